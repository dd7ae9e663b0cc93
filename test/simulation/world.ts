// The shared truth of a simulation: stores, tables, control schemas, the plugin and the clock, and the processes that
// come and go around them.

import pino from 'pino';
import type { DaemonSettings } from '../../actors/daemons/daemons.ts';
import { typeKey } from '../../engine/model/data-types.ts';
import type { ObjectChange } from '../../engine/model/event.ts';
import type { DatasetId, TargetId, UserId } from '../../engine/model/ids.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { Lease } from '../../engine/ports/jobs.ts';
import type { ObjectInfo, ObjectSource, PutOptions } from '../../engine/ports/object-store.ts';
import { PLUGIN_FAULT_ATTEMPTS } from '../../engine/ports/plugin-client.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { FakeCatalog } from '../fakes/fake-catalog.ts';
import { ChangeTable } from '../fakes/fake-change-queue.ts';
import { EventLogTable } from '../fakes/fake-event-log.ts';
import { FakeControlSchema, FakeInstallTarget } from '../fakes/fake-install-target.ts';
import { FakeObjectStore } from '../fakes/fake-object-store.ts';
import { FakeSlimPasses } from '../fakes/fake-slim-passes.ts';
import { FakeUploads } from '../fakes/fake-uploads.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { PLASMO, TOXO } from '../support/dataset-samples.ts';
import type { Bug } from './bugs.ts';
import { Fences } from './fences.ts';
import { sharesData } from './plan.ts';
import { SeededRandom } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { RowLocks } from './sim-edits.ts';
import { SimPlugin } from './sim-plugin.ts';
import { SimProcess } from './sim-process.ts';
import { SimJobs, SimLeases } from './sim-tables.ts';
import { Trace } from './trace.ts';

/** pino's number. */
const ERROR = 50;
/** In a site of three datasets one that is about to go is too many for the reconciler. */
const BRAKED = /^datasets are missing from the object store/;

export interface WorldOptions {
  readonly seed: number;
  readonly bug?: Bug | undefined;
  readonly print?: boolean;
}

export class World {
  readonly bug: Bug | undefined;
  readonly clock = new VirtualClock();
  readonly trace: Trace;
  readonly log: Logger;
  readonly scheduler: Scheduler;
  readonly violations: string[] = [];
  readonly violate = (text: string): void => {
    this.violations.push(text);
    this.trace.note(`VIOLATION ${text}`);
  };
  readonly leases = new SimLeases(this.clock);
  readonly jobs: SimJobs;
  readonly catalog = new FakeCatalog((lease) => this.#isHeld(lease));
  readonly uploads: FakeUploads;
  readonly store: FakeObjectStore;
  readonly schema = new FakeControlSchema();
  readonly targets: ReadonlyMap<TargetId, InstallTarget>;
  /** Both targets have one data schema. */
  readonly sharesData: boolean;
  readonly plugin = new SimPlugin(this.violate, {
    schemaOf: (target) => this.#dataSchemaOf(target),
    isSharedWithOther: (dataset, target) => this.#isSharedWithOther(dataset, target),
  });
  readonly fences = new Fences(this.leases, this.schema, this.violate);
  readonly changes = new ChangeTable(this.clock);
  readonly events = new EventLogTable(this.clock);
  readonly slimPasses = new FakeSlimPasses();
  readonly daemons: DaemonSettings;
  readonly rows = new RowLocks();
  readonly processes: SimProcess[] = [];
  /** Changes on their way from the store, and those that a settling must tell. */
  late = 0;
  untold: { readonly change: ObjectChange; readonly process: number }[] = [];
  readonly #receivers = new Map<DatasetId, number>();
  #last = 0;

  constructor({ seed, bug, print = false }: WorldOptions) {
    this.bug = bug;
    this.sharesData = sharesData(seed);
    this.daemons = daemonSettings(new SeededRandom(seed, 'daemons'));
    this.trace = new Trace(() => this.clock.now(), print);
    this.log = this.#logger(print);
    this.scheduler = new Scheduler({
      clock: this.clock,
      random: new SeededRandom(seed, 'scheduler'),
      trace: this.trace,
      isLocked: (dataset) => this.rows.isLocked(dataset),
      crash: (caller) => this.crash(caller as SimProcess),
    });
    this.leases.violate = this.violate;
    this.jobs = new SimJobs(this.clock, this.leases, (dataset) => {
      const known = this.catalog.datasets.get(dataset);
      return known && typeKey(known.metadata.type);
    });
    this.jobs.dropsEvents = bug === 'dropped-event';
    this.catalog.onNext = (request) => this.jobs.enqueue(request);
    this.uploads = new FakeUploads(this.catalog, {
      holds: (lease) => this.#isHeld(lease),
      enqueueJobs: async (requests) => {
        for (const request of requests) this.jobs.enqueue(request);
      },
    });
    this.uploads.receives = (dataset) => this.leases.alive(this.#receivers.get(dataset) ?? 0);
    this.store = this.#openStore();
    this.store.honorsHandOver = new SeededRandom(seed, 'hand-over').pick([true, false]);
    this.targets = new Map([PLASMO, TOXO].map((id) => [id, this.#openTarget(id)]));
  }

  get alive(): readonly SimProcess[] {
    return this.processes.filter((process) => process.alive);
  }

  startProcess(): SimProcess {
    const process = new SimProcess(this, ++this.#last);
    this.trace.note(`p${process.id} starts`);
    this.processes.push(process);
    process.start();
    return process;
  }

  crash(process: SimProcess): void {
    if (!process.alive) return;
    this.trace.note(`p${process.id} ends`);
    process.kill();
  }

  /** The uploads as a process sees them: those that it receives are its own. */
  uploadsOf(process: { readonly id: number }): Uploads {
    const { uploads } = this;
    const receivers = this.#receivers;
    const own: Partial<Uploads> = {
      begin: (at, ...rest) => {
        receivers.set(at.dataset, process.id);
        return uploads.begin(at, ...rest);
      },
    };
    return new Proxy<Uploads>(uploads, {
      get(target, property) {
        const member: unknown = own[property as keyof Uploads] ?? Reflect.get(target, property, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  }

  /** Who sees the dataset on the target's site. */
  visibleTo(target: TargetId, dataset: DatasetId): readonly UserId[] {
    return new FakeInstallTarget(target, this.clock, this.schema).visibleTo(dataset);
  }

  /** Tells the changes that dead processes made and did not tell. */
  settle(): void {
    const orphans = this.untold.filter(({ process }) => !this.leases.alive(process));
    this.untold = this.untold.filter(({ process }) => this.leases.alive(process));
    for (const { change } of orphans) this.changes.ready.add([change]);
  }

  /** Nothing is left to do but what an administrator must look at. */
  isQuiet(): boolean {
    return this.leftOver().length === 0;
  }

  leftOver(): readonly string[] {
    return [
      ...this.jobs.rows
        .filter(({ state }) => state !== 'dead')
        .map((row) => `job ${row.lane} ${row.dataset} ${row.state}`),
      ...this.changes.ready.waiting.map(({ key }) => `change of ${key}`),
      ...this.untold.map(({ change }) => `untold change of ${change.key}`),
      ...this.events.rows.waiting.map(({ channel, event }) => `event ${channel} ${event.datasetID}`),
      ...this.leases.held().flatMap((name) => (name.startsWith('daemon:') ? [] : [`lease ${name}`])),
      ...[...this.catalog.receiving].map((dataset) => `upload ${dataset}`),
      ...(this.late > 0 ? [`${this.late} late changes`] : []),
      ...this.scheduler.calls.map((call) => `call ${call}`),
    ];
  }

  /** So much failed around the dataset that a lane may have given up. */
  mayHaveGivenUp(dataset: DatasetId): boolean {
    return this.scheduler.strikesOn(dataset) >= PLUGIN_FAULT_ATTEMPTS;
  }

  /** Planted: nothing is uninstalled where something is to be installed. */
  skipsUninstall(dataset: DatasetId, target: string | undefined): boolean {
    const state = this.schema.rows.get(dataset)?.targets.get(target as TargetId)?.state;
    return this.bug === 'double-install' && state?.deletedStatus === 0;
  }

  #dataSchemaOf(target: TargetId): string {
    return this.sharesData ? 'shared' : target;
  }

  #isSharedWithOther(dataset: DatasetId, target: TargetId): boolean {
    if (!this.sharesData) return false;
    const targets = [...(this.schema.rows.get(dataset)?.targets ?? [])];
    return targets.some(
      ([id, { state }]) => id !== target && state.deletedStatus === 0 && state.messages.data?.status === 'complete',
    );
  }

  #isHeld(lease: Lease): boolean {
    return this.bug === 'unfenced' || this.leases.isCurrent(lease);
  }

  #openStore(): FakeObjectStore {
    const store = new SimStore(
      () => this.clock.now(),
      (path) => this.#fileOf(path),
    );
    const push = store.changes.push.bind(store.changes);
    store.changes.push = (...made) => {
      for (const change of made) this.#announce(change);
      return push(...made);
    };
    return store;
  }

  #fileOf(path: string): Buffer {
    for (const process of this.processes) {
      const content = process.ports.scratch.find(path);
      if (content) return content;
    }
    throw new Error(`no process has a file ${path}`);
  }

  #announce(change: ObjectChange): void {
    const { scheduler } = this;
    const { acting, random, weather } = scheduler;
    if (acting?.untold) {
      scheduler.count('change untold');
      this.untold.push({ change, process: acting.caller });
      return;
    }
    const late = random.chance(weather['change late']);
    if (late) {
      scheduler.count('change late');
      this.#announceLate(change);
    } else this.changes.ready.add([change]);
    if (random.chance(weather['change repeated'])) {
      scheduler.count('change repeated');
      this.#announceLate(change);
    }
  }

  #announceLate(change: ObjectChange): void {
    this.late++;
    this.clock.after(this.scheduler.random.between(1, 45_000), () => {
      this.late--;
      this.changes.ready.add([change]);
    });
  }

  #openTarget(id: TargetId): InstallTarget {
    const target = new FakeInstallTarget(id, this.clock, this.schema, this.#dataSchemaOf(id));
    return this.bug === 'unfenced' ? this.#unfenced(target) : target;
  }

  /** Planted: every token is as good as the newest. */
  #unfenced(target: InstallTarget): InstallTarget {
    const newest = (dataset: DatasetId, token: number): number =>
      Math.max(token, this.schema.rows.get(dataset)?.token ?? 0);
    return {
      id: target.id,
      dataSchema: target.dataSchema,
      state: (dataset, signal) => target.state(dataset, signal),
      begin: (dataset, change, token, signal) => target.begin(dataset, change, newest(dataset, token), signal),
      write: (dataset, change, token, signal) => target.write(dataset, change, newest(dataset, token), signal),
      removeMessage: (dataset, kind, token, signal) =>
        target.removeMessage(dataset, kind, newest(dataset, token), signal),
      writeVisibility: (dataset, recipients, version, token, signal) =>
        target.writeVisibility(dataset, recipients, version, newest(dataset, token), signal),
      setDeleted: (dataset, status, token, signal) =>
        target.setDeleted(dataset, status, newest(dataset, token), signal),
      purge: (dataset, token, signal) => target.purge(dataset, newest(dataset, token), signal),
    };
  }

  /** What a person should look at must not come of faults from outside. */
  #logger(print: boolean): Logger {
    const write = (line: string): void => {
      if (print) console.log(`    ${line.trim()}`);
      const { level, process, msg, dataset, err } = JSON.parse(line) as Readonly<Record<string, unknown>>;
      if (BRAKED.test(String(msg))) return;
      if (Number(level) < ERROR || this.plugin.isPoison(dataset as DatasetId)) return;
      // The tables' loops come to an end with their process, which nobody is there to see.
      if (!this.leases.alive(Number(process))) return;
      this.violate(`logged as an error: ${msg} ${dataset ?? ''} ${JSON.stringify(err)}`);
    };
    return pino({ level: print ? 'info' : 'error', base: null, timestamp: false }, { write });
  }
}

/** Takes files from the processes' memory. */
class SimStore extends FakeObjectStore {
  readonly #fileOf: (path: string) => Buffer;

  constructor(now: () => number, fileOf: (path: string) => Buffer) {
    super(now);
    this.#fileOf = fileOf;
  }

  override put(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<ObjectInfo> {
    const bytes = 'file' in source ? this.#fileOf(source.file) : source;
    return super.put(key, bytes, options, signal);
  }
}

/** Minutes instead of hours and days, so that runs meet with everything else. */
function daemonSettings(random: SeededRandom): DaemonSettings {
  const fullRunIntervalMs = random.pick([70_000, 150_000, 3_600_000]);
  const slimRunIntervalMs = random.pick([30_000, 80_000, 3_600_000]);
  const pruner = {
    retentionWindowMs: random.pick([0, 30_000, 86_400_000]),
    pruneIntervalMs: random.pick([20_000, 60_000]),
  };
  // With 1, slim runs compare a part even of a few datasets.
  const least = random.pick([1, 10_000]);
  return {
    pruner,
    reconciler: { enabled: true, fullRunIntervalMs, slimRunIntervalMs, least, performDeletes: true },
  };
}
