// A little site over fakes: the stores, two install targets, one plugin, and processes that run the lanes' jobs one
// after the other. Time stands still but for the waits of delayed jobs.

import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { routeChange } from '../../actors/events/event-router.ts';
import { Attempts } from '../../actors/jobs/attempts.ts';
import type { JobHandler } from '../../actors/jobs/job-handler.ts';
import { runJob } from '../../actors/jobs/job-lane.ts';
import { Scratch } from '../../actors/jobs/scratch.ts';
import { PausesInForce } from '../../actors/pauses/pauses-in-force.ts';
import type { TaskRunner } from '../../actors/tasks/task-map.ts';
import { laneHandlers, RUNNING_LANES } from '../../actors/topology.ts';
import { RemoteHttp } from '../../engine/adapters/remote/remote-http.ts';
import { typeKey } from '../../engine/model/data-types.ts';
import type { ArchiveObject } from '../../engine/model/digest.ts';
import { LANES } from '../../engine/model/event.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import { serialiseShare } from '../../engine/model/metadata.ts';
import {
  type DatasetAddress,
  datasetPrefix,
  objectKey,
  SHARE_OBJECTS,
  shareKey,
} from '../../engine/model/object-key.ts';
import type { StoredShare } from '../../engine/ports/catalog.ts';
import type { ControlState, InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobOutcome, Jobs, Lease, RecordedOutcome } from '../../engine/ports/jobs.ts';
import type { Pauses } from '../../engine/ports/pauses.ts';
import type { RemoteFiles } from '../../engine/ports/remote-files.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { FakeCatalog, type FakeDataset } from '../fakes/fake-catalog.ts';
import { FakeControlSchema, FakeInstallTarget } from '../fakes/fake-install-target.ts';
import { FakeJobs, JobTable } from '../fakes/fake-jobs.ts';
import { LeaseTable } from '../fakes/fake-leases.ts';
import { FakeObjectStore } from '../fakes/fake-object-store.ts';
import { FakePauses, PauseTable } from '../fakes/fake-pauses.ts';
import { FakePluginClient } from '../fakes/fake-plugin-client.ts';
import { FakeUploads } from '../fakes/fake-uploads.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { acceptUpload, type Upload } from './accepted-upload.ts';
import { newAddress, PLASMO, TOXO } from './dataset-samples.ts';
import { controlView, recordView } from './dataset-views.ts';
import { digestedArchive } from './digested-files.ts';
import { FaultGate } from './fault-gate.ts';
import { InProcessTasks } from './in-process-tasks.ts';
import { LIMITS, TUNING, TUNINGS, TYPES } from './lane-settings.ts';
import { LOOPBACK } from './remote-server.ts';
import { unzip } from './unzip.ts';

export type RunningLane = (typeof RUNNING_LANES)[number];

const never = new AbortController().signal;

export type { Upload };

/** One process's view of the site; dies at the gate's crash. */
export interface LaneProcess {
  readonly id: number;
  readonly jobs: Jobs;
  readonly gate: FaultGate;
  /** Claims the job of the lane that is due, or undefined. */
  claim(lane: RunningLane): Promise<ClaimedJob | undefined>;
  /** Runs a claimed job to the end that the lane would write. */
  /** The outcome without what only the history keeps of it, which {@link complete} adds. */
  perform(job: ClaimedJob, signal?: AbortSignal): Promise<JobOutcome>;
  complete(job: ClaimedJob, outcome: JobOutcome): Promise<void>;
}

export class LaneWorld {
  readonly clock = new VirtualClock();
  readonly leases = new LeaseTable(this.clock);
  readonly jobs = new JobTable(this.clock, this.leases, (dataset) => {
    const known = this.catalog.datasets.get(dataset);
    return known && typeKey(known.metadata.type);
  });
  catalog = new FakeCatalog((lease) => this.#holds(lease));
  uploads = this.#uploadsOf(this.catalog);
  readonly store = new FakeObjectStore(() => this.clock.now());
  readonly plugin = new FakePluginClient();
  readonly schema = new FakeControlSchema();
  /** Fetches from this machine alone. */
  readonly remote: RemoteFiles = new RemoteHttp({
    allow: [LOOPBACK],
    ports: [80, 443],
    maxRedirects: 5,
    connectMs: 10_000,
    idleMs: 60_000,
  });
  /** Replace one to make it misbehave. */
  readonly targets = new Map<TargetId, InstallTarget>();
  readonly metrics = new Metrics();
  readonly pauses: Pauses = new FakePauses(new PauseTable(this.jobs));
  /** Reads `pauses` when it is told to. */
  readonly pausesInForce = new PausesInForce(
    this.pauses,
    { lane: LANES, plugin: ['genes'], target: [PLASMO, TOXO] },
    { clock: this.clock, log: silentLogger(), metrics: this.metrics },
  );
  readonly #scratchRoot: string;
  #delivered = 0;
  #processes = 0;
  #lastEvent = 0;

  /** @param sharesData both targets have one data schema */
  constructor(scratchRoot: string, { sharesData = false }: { readonly sharesData?: boolean } = {}) {
    this.#scratchRoot = scratchRoot;
    this.plugin.schemaOf = (target) => (sharesData ? 'shared' : target);
    for (const id of [PLASMO, TOXO])
      this.targets.set(id, new FakeInstallTarget(id, this.clock, this.schema, this.plugin.schemaOf(id)));
  }

  /** The options of the topology that all processes share. */
  readonly settings = {
    types: TYPES,
    tuning: TUNINGS,
    uploadLimits: LIMITS,
    log: silentLogger(),
    clock: this.clock,
    random: () => 0,
    metrics: this.metrics,
  };

  process(gate = new FaultGate(), tasks?: TaskRunner): LaneProcess {
    const id = ++this.#processes;
    const jobs = gate.wrap('jobs', new FakeJobs(this.jobs, id));
    const store = gate.wrap('store', this.store);
    const ports = {
      jobs,
      store,
      catalog: gate.wrap('catalog', this.catalog),
      uploads: gate.wrap('uploads', this.uploads),
      targets: new Map([...this.targets].map(([name, target]) => [name, gate.wrap(name, target)])),
      tasks:
        tasks ??
        new InProcessTasks({
          store,
          remote: gate.wrap('remote', this.remote),
          plugins: new Map([['genes', gate.wrap('plugin', this.plugin)]]),
        }),
    };
    const attempts = new Attempts(this.clock);
    const records = new WeakMap<ClaimedJob, RecordedOutcome['record']>();
    const pauses = { inForce: this.pausesInForce, waits: this.pauses };
    const options = {
      ...this.settings,
      ...ports,
      tasks: attempts.recording(ports.tasks),
      attempts,
      pauses,
      scratch: new Scratch(this.#scratchRoot),
    };
    const handlers = new Map<string, JobHandler>(laneHandlers(options).map((handler) => [handler.lane, handler]));
    // What the lane itself does with the job table is not the handler's and does not go through the gate.
    const table = new FakeJobs(this.jobs, id);
    const nothing = { crowdedTypes: [], blockedTypes: [] };
    return {
      id,
      jobs,
      gate,
      claim: async (lane) => (await table.completeAndFetch([], { lane, limit: 1, ...nothing }, never))[0],
      perform: async (job, signal = never) => {
        const handler = handlers.get(job.lane);
        assert(handler, job.lane);
        const { record, ...outcome } = await runJob(job, { ...options, handler, tuning: TUNING }, signal);
        records.set(job, record);
        return outcome.kind === 'done' ? { kind: 'done' } : outcome;
      },
      complete: async (job, outcome) => {
        const record = records.get(job);
        const done = { job, outcome: { ...outcome, ...(record ? { record } : {}) } };
        await table.completeAndFetch([done], { lane: job.lane, limit: 0, ...nothing }, never);
      },
    };
  }

  /** What a front end does for an upload, up to the 202. */
  async accept(upload: Upload = {}, at: DatasetAddress = newAddress()): Promise<DatasetAddress> {
    await acceptUpload(this, upload, at, () => ++this.#lastEvent);
    return at;
  }

  /**
   * The cache DB is lost, with its job table; the store and the control schema are what is left. Leases stay, for their
   * tokens only grow. Processes made before do not notice.
   */
  dropCache(): void {
    for (const row of this.jobs.rows) this.jobs.remove(row);
    this.catalog = new FakeCatalog((lease) => this.#holds(lease));
    this.uploads = this.#uploadsOf(this.catalog);
  }

  /** Turns changes of the store into job rows, as router and intake do. */
  deliver(): void {
    const changes = this.store.changes.slice(this.#delivered);
    this.#delivered = this.store.changes.length;
    for (const change of changes) {
      const route = routeChange(change);
      if (route.kind !== 'lanes') continue;
      const eventId = ++this.#lastEvent;
      for (const lane of route.lanes)
        if ((RUNNING_LANES as readonly string[]).includes(lane))
          this.jobs.enqueue({ lane, ...route.at, eventId, source: 'object-store' });
    }
  }

  /** An event for one lane, out of the blue. */
  event(lane: RunningLane, at: DatasetAddress): void {
    this.jobs.enqueue({ lane, ...at, eventId: ++this.#lastEvent, source: 'object-store' });
  }

  /** Runs the job of the lane that is due, and gives its outcome back to the table. */
  async run(lane: RunningLane, process: LaneProcess = this.process()): Promise<JobOutcome> {
    this.deliver();
    const job = await process.claim(lane);
    assert(job, `no job of lane ${lane} is due`);
    const outcome = await process.perform(job);
    await process.complete(job, outcome);
    this.deliver();
    return outcome;
  }

  /** Claims and runs what is due in every lane; how many jobs that were. A process that crashed writes no outcome. */
  async round(process: LaneProcess): Promise<number> {
    this.deliver();
    const claimed = await Promise.all(RUNNING_LANES.map((lane) => process.claim(lane)));
    const jobs = claimed.filter((job) => job !== undefined);
    for (const job of jobs) {
      const outcome = await process.perform(job);
      if (this.leases.alive(process.id)) await process.complete(job, outcome);
    }
    return jobs.length;
  }

  /** Runs whatever is due, waiting for what is delayed, until the process or all jobs but dead ones have ended. */
  async finish(process: LaneProcess = this.process()): Promise<void> {
    for (let rounds = 0; this.leases.alive(process.id); rounds++) {
      assert(rounds < 200, `jobs do not come to an end: ${this.jobRows()}`);
      if ((await this.round(process)) > 0) continue;
      if (!this.jobs.rows.some((row) => row.state !== 'dead')) return;
      assert(await this.clock.advanceToNext(), `jobs that nobody runs: ${this.jobRows()}`);
    }
  }

  /**
   * A new dataset just before the job of the lane: the lanes before it have run. The install leaves the metadata to the
   * update-meta lane, because the cache has lost their version.
   */
  async before(lane: RunningLane, upload: Upload = {}): Promise<DatasetAddress> {
    const at = await this.accept(upload);
    const order: readonly RunningLane[] = ['upload', 'import', 'updateMeta', 'install', 'updateMeta'];
    // Lanes that are not on an upload's way come after all of it.
    const place = lane === 'updateMeta' ? 4 : order.indexOf(lane);
    for (const step of place < 0 ? order : order.slice(0, place)) {
      if (step === 'install') this.#forgetMeta(at);
      await this.run(step);
    }
    return at;
  }

  #forgetMeta(at: DatasetAddress): void {
    const known = this.dataset(at);
    const { meta: _meta, ...sync } = known.sync;
    this.catalog.datasets.set(at.dataset, { ...known, sync });
  }

  /** Puts what owner and recipient say about a share into the store, the offer first. */
  async share(at: DatasetAddress, { recipient, offer, receipt }: StoredShare): Promise<void> {
    const words = { 'share-offer.json': offer, 'share-receipt.json': receipt } as const;
    for (const object of SHARE_OBJECTS) {
      const word = words[object];
      if (word) await this.store.put(shareKey(at, recipient, object), Buffer.from(serialiseShare(word)), {}, never);
    }
  }

  dataset(at: DatasetAddress): FakeDataset {
    const known = this.catalog.datasets.get(at.dataset);
    assert(known, `dataset ${at.dataset} is not in the catalog`);
    return known;
  }

  /** Keys below the dataset. */
  keys(at: DatasetAddress): string[] {
    const prefix = datasetPrefix(at);
    return this.store.keys().flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
  }

  /** The archive as a manifest has it. */
  async archive(at: DatasetAddress, object: ArchiveObject): Promise<ReturnType<typeof digestedArchive>> {
    const opened = await this.store.get(objectKey(at, object), undefined, never);
    return opened ? digestedArchive(object, await buffer(opened.body)) : {};
  }

  json(at: DatasetAddress, object: Parameters<typeof objectKey>[1]): unknown {
    return JSON.parse(this.store.text(objectKey(at, object)) ?? 'null');
  }

  jobRows(): string[] {
    return this.jobs.rows.map((row) => `${row.lane} ${row.state}`).sort();
  }

  /** What the catalog says, without what never changes. */
  record(at: DatasetAddress): Promise<object> {
    return recordView(this.dataset(at), this.store);
  }

  /** What the control schema says, by target. */
  control(at: DatasetAddress): Promise<Record<string, object>> {
    return controlView(this.schema, at, this.store);
  }

  /** Contents of an archive of the dataset, by path. */
  async contents(
    at: DatasetAddress,
    object: 'import-ready.zip' | 'install-ready.zip',
  ): Promise<Record<string, string>> {
    const opened = await this.store.get(objectKey(at, object), undefined, never);
    const entries = await unzip(opened ? await buffer(opened.body) : Buffer.alloc(0));
    return Object.fromEntries([...entries].map(([path, bytes]) => [path, bytes.toString()]));
  }

  /** What is left of attempts: `target kind attempts`. */
  /** What the target itself says. */
  async state(at: DatasetAddress, id: TargetId): Promise<ControlState> {
    const target = this.targets.get(id);
    assert(target, `no target ${id}`);
    return target.state(at.dataset, never);
  }

  async attempts(at: DatasetAddress): Promise<string[]> {
    const attempts = await this.catalog.attempts(at.dataset, never);
    return attempts.map(
      ({ target, kind, attempts, started }) => `${target} ${kind} ${attempts}${started ? ' started' : ''}`,
    );
  }

  /** Calls of the plugin: `kind target`. */
  get calls(): string[] {
    return this.plugin.calls.map(({ kind, target }) => (target === undefined ? kind : `${kind} ${target}`));
  }

  #uploadsOf(catalog: FakeCatalog): FakeUploads {
    catalog.onNext = (request) => this.jobs.enqueue(request);
    return new FakeUploads(catalog, {
      holds: (lease) => this.#holds(lease),
      enqueueJobs: async (requests) => {
        for (const request of requests) this.jobs.enqueue(request);
      },
    });
  }

  #holds(lease: Lease): boolean {
    for (let id = 1; id <= this.#processes; id++)
      if (this.leases.alive(id) && this.leases.holds(lease, id)) return true;
    return false;
  }
}
