// One process of the simulation: the real supervisor over the real tree, on ports that stand behind the scheduler.

import { Daemons } from '../../actors/daemons/daemons.ts';
import type { LaneChannels } from '../../actors/events/event-router.ts';
import type { LaneTunings } from '../../actors/jobs/job-lane.ts';
import { PluginBreakers } from '../../actors/plugins/plugin-breakers.ts';
import { topology } from '../../actors/topology.ts';
import { LANES } from '../../engine/model/event.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { DatasetQueries, ViewedDataset } from '../../engine/ports/dataset-queries.ts';
import type { ChangeQueue, EventLog } from '../../engine/ports/event-log.ts';
import type { Jobs, Leases } from '../../engine/ports/jobs.ts';
import { LiveSetting } from '../../engine/runtime/live-setting.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { Supervisor } from '../../engine/runtime/supervisor.ts';
import { FakeChangeQueue } from '../fakes/fake-change-queue.ts';
import { FakeDatasetIndex, FakeTargetIndex } from '../fakes/fake-dataset-index.ts';
import { FakeEventLog } from '../fakes/fake-event-log.ts';
import { FakeJobs } from '../fakes/fake-jobs.ts';
import { FakeLeases } from '../fakes/fake-leases.ts';
import { LIMITS, TYPES } from '../support/lane-settings.ts';
import { Gate } from './gate.ts';
import { ProcessClock } from './process-clock.ts';
import type { SeededRandom } from './random.ts';
import type { Caller } from './scheduler.ts';
import { SimEdits } from './sim-edits.ts';
import { SimScratch } from './sim-scratch.ts';
import { SimTasks } from './sim-tasks.ts';
import type { World } from './world.ts';

const RETRY = { attempts: 12, baseMs: 1_000, maxMs: 30_000 };
const TUNING = { inMemoryQueueSize: 4, workerCount: 2, retry: RETRY };
const TUNINGS = Object.fromEntries(LANES.map((lane) => [lane, TUNING])) as unknown as LaneTunings;
const CHANNELS = Object.fromEntries(
  LANES.filter((lane) => lane !== 'upload').map((lane) => [lane, { channel: lane, key: lane }]),
) as unknown as LaneChannels;
/** Of a stop in order, ms. */
export const GRACE_MS = 30_000;

export class SimProcess implements Caller {
  readonly id: number;
  alive = true;
  stalled = false;
  stopping = false;
  readonly #ended = new AbortController();
  readonly clock: ProcessClock;
  readonly tree: Supervisor;
  /** What a front end of the process has. */
  readonly ports: ReturnType<typeof openPorts>;
  readonly #world: World;
  readonly #tuning = new LiveSetting(TUNINGS);

  constructor(world: World, id: number) {
    this.#world = world;
    this.id = id;
    this.clock = new ProcessClock(world.clock);
    this.ports = openPorts(this, world);
    this.tree = this.#plant();
  }

  /** Aborts when the process ends. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  start(): void {
    this.tree.broken.catch((error: unknown) => {
      if (this.alive) this.#world.violate(`process ${this.id} broke: ${String(error)}`);
    });
    // A signal of its own: what a process leaves listening to it when it is killed must go with the process.
    this.tree.start(new AbortController().signal).catch((error: unknown) => {
      if (!this.stopping && this.alive) this.#world.violate(`process ${this.id} did not start: ${String(error)}`);
    });
  }

  /** Ends here and now. */
  kill(): void {
    if (!this.alive) return;
    // What is on its way to a database may arrive.
    this.#world.scheduler.drop(this);
    this.alive = false;
    this.#world.leases.kill(this.id);
    this.#world.changes.ready.kill(this.id);
    this.#world.events.rows.kill(this.id);
    this.clock.kill();
    this.#ended.abort();
    for (const child of this.tree.statuses())
      if (child.restarts > 0 || child.state === 'down')
        this.#world.violate(`child ${child.name} of process ${this.id} broke: ${child.failure}`);
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.tree.stop(this.clock.now() + GRACE_MS);
  }

  /** Each lane's workers and places; says which. */
  resizeLanes(random: SeededRandom): string {
    const tunings = LANES.map((lane) => {
      const bounds = { inMemoryQueueSize: random.between(1, 6), workerCount: random.between(1, 4) };
      return [lane, { ...bounds, retry: RETRY }] as const;
    });
    this.#tuning.set(Object.fromEntries(tunings) as unknown as LaneTunings);
    return tunings.map(([lane, at]) => `${lane} ${at.workerCount}+${at.inMemoryQueueSize}`).join(', ');
  }

  stall(): void {
    this.stalled = true;
    this.clock.stall();
  }

  goOn(): void {
    if (!this.stalled) return;
    this.stalled = false;
    this.clock.goOn();
  }

  #plant(): Supervisor {
    const { id, clock, ports } = this;
    const world = this.#world;
    const log = world.log.child({ process: id });
    const metrics = new Metrics();
    const { gate, scratch, settler, queries: _queries, edits: _edits, ...rest } = ports;
    const tasks = new SimTasks({ ...gate.taskParts(), store: ports.store, scratch, plugin: world.plugin });
    const { index, slimPasses, targetIndexes, ...lanes } = rest;
    const parts = { types: TYPES, clock, log, metrics, random: Math.random };
    const daemons = new Daemons({ ...lanes, index, slimPasses, targetIndexes, ...parts, settings: world.daemons });
    const children = topology({
      ...lanes,
      daemons,
      scratch,
      tasks,
      breakers: new PluginBreakers(TYPES, { clock, log, metrics }),
      types: TYPES,
      tuning: this.#tuning,
      channels: CHANNELS,
      uploadLimits: LIMITS,
      settleStore: (signal) => settler.settle(signal),
      clock,
      log,
      metrics,
      random: Math.random,
    });
    return new Supervisor({ name: 'lanes', children, clock, log, metrics });
  }
}

function openPorts(process: SimProcess, world: World) {
  const { id } = process;
  const gate = new Gate(process, world);
  const jobs = new FakeJobs(world.jobs, id);
  const view = async (dataset: DatasetId) => world.catalog.datasets.get(dataset) as ViewedDataset | undefined;
  return {
    catalog: gate.wrap('catalog', world.catalog),
    uploads: gate.wrap('uploads', world.uploadsOf(process)),
    store: gate.wrap('store', world.store),
    leases: withoutIdleAsking(gate.wrap<Leases>('leases', new FakeLeases(world.leases, id)), world),
    jobs: withoutIdleLooks(gate.wrap<Jobs>('jobs', jobs), jobs, world),
    changes: gate.wrapConsumer<ChangeQueue>('changes', new FakeChangeQueue(world.changes, id)),
    events: gate.wrapConsumer<EventLog>('events', new FakeEventLog(world.events, id)),
    targets: new Map([...world.targets].map(([name, target]) => [name, gate.wrap('target', target)])),
    queries: gate.wrap<Pick<DatasetQueries, 'view'>>('queries', { view }),
    settler: gate.wrap('store', { settle: async (_signal: AbortSignal) => world.settle() }),
    index: gate.wrap(
      'index',
      new FakeDatasetIndex(
        world.catalog,
        () => world.jobs.rows,
        (dataset) => world.rows.isLocked(dataset),
      ),
    ),
    slimPasses: gate.wrap('slimPasses', world.slimPasses),
    targetIndexes: [gate.wrap('index', new FakeTargetIndex(world.targets.keys(), world.schema))],
    edits: new SimEdits(world.catalog, world.rows, gate, process),
    scratch: new SimScratch(),
    gate,
  };
}

/** A look at an empty lane and a count of its rows change nothing: they need no decision of the scheduler. */
function withoutIdleLooks(gated: Jobs, table: Jobs, world: World): Jobs {
  const completeAndFetch: Jobs['completeAndFetch'] = async (done, claim, signal) => {
    const { rows } = world.jobs;
    const due = done.length > 0 || rows.some((row) => row.lane === claim.lane && world.jobs.isClaimable(row));
    return due ? gated.completeAndFetch(done, claim, signal) : [];
  };
  const own: Partial<Jobs> = {
    completeAndFetch,
    watch: (lane, wake) => table.watch(lane, wake),
    depths: (signal) => table.depths(signal),
  };
  return new Proxy(gated, {
    get: (target, property) => own[property as keyof Jobs] ?? Reflect.get(target, property),
  });
}

/** Nor does asking for what somebody else has. */
function withoutIdleAsking(gated: Leases, world: World): Leases {
  return {
    acquire: async (name, signal) => (world.leases.isFree(name) ? gated.acquire(name, signal) : undefined),
    renew: (leases, signal) => gated.renew(leases, signal),
    release: (lease, signal) => gated.release(lease, signal),
  };
}
