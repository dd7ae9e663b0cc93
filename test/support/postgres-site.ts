// A little site on the real stores: cache and control schemas on PostgreSQL, objects in a directory, one plugin, and one
// process that runs the lanes' jobs one after the other.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { routeChange } from '../../actors/events/event-router.ts';
import type { JobHandler } from '../../actors/jobs/job-handler.ts';
import { runJob } from '../../actors/jobs/job-lane.ts';
import { Scratch } from '../../actors/jobs/scratch.ts';
import { laneHandlers, RUNNING_LANES } from '../../actors/topology.ts';
import { PostgresCatalog } from '../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetEdits } from '../../engine/adapters/datasets/dataset-edits-postgres.ts';
import { PostgresDatasetQueries } from '../../engine/adapters/datasets/dataset-queries-postgres.ts';
import { type DirectoryStore, openDirectoryStore } from '../../engine/adapters/directory/directory-store.ts';
import { PostgresJobs } from '../../engine/adapters/jobs/jobs-postgres.ts';
import { cacheMigrations, controlMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import { PostgresInstallTarget } from '../../engine/adapters/sites/install-target-postgres.ts';
import { CountedStore } from '../../engine/adapters/uploads/counted-store.ts';
import { PostgresStoredBytes } from '../../engine/adapters/uploads/stored-bytes-postgres.ts';
import { PostgresUploads } from '../../engine/adapters/uploads/uploads-postgres.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobOutcome, JobRequest } from '../../engine/ports/jobs.ts';
import type { RemoteFiles } from '../../engine/ports/remote-files.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { FakeChangeJournal } from '../fakes/fake-change-journal.ts';
import { FakePluginClient } from '../fakes/fake-plugin-client.ts';
import { acceptUpload, type Upload } from './accepted-upload.ts';
import { testDatabase } from './database.ts';
import { PLASMO, TOXO } from './dataset-samples.ts';
import { InProcessTasks } from './in-process-tasks.ts';
import { LIMITS, TUNING, TUNINGS, TYPES } from './lane-settings.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

/** What goes when the cache goes. */
interface Cache {
  readonly db: Postgres;
  readonly edits: PostgresDatasetEdits;
  readonly pools: readonly Postgres[];
  readonly kept: PostgresStoredBytes;
  readonly store: CountedStore;
  readonly instance: PostgresInstance;
  readonly catalog: PostgresCatalog;
  readonly queries: PostgresDatasetQueries;
  readonly uploads: PostgresUploads;
  readonly jobs: PostgresJobs;
}

const never = new AbortController().signal;
const log = silentLogger();
/** More rounds than any story has jobs in a row. */
const ROUNDS = 200;

export class PostgresSite {
  readonly plugin = new FakePluginClient();
  readonly uncountedStore: DirectoryStore;
  readonly targets: ReadonlyMap<typeof PLASMO, InstallTarget>;
  readonly control: Postgres;
  /** How jobs ended, each kind once. */
  readonly outcomes = new Set<JobOutcome['kind']>();
  readonly #connect: (schema: string) => Postgres;
  readonly #journal: FakeChangeJournal;
  readonly #scratch: Scratch;
  readonly #quotaBytes: number;
  readonly #remote: RemoteFiles | undefined;
  #cache: Cache;
  #delivered = 0;
  #lastEvent = 0;

  private constructor(parts: {
    connect: (schema: string) => Postgres;
    cache: Cache;
    control: Postgres;
    store: DirectoryStore;
    journal: FakeChangeJournal;
    scratch: Scratch;
    sharesData: boolean;
    quotaBytes: number;
    remote: RemoteFiles | undefined;
  }) {
    this.#connect = parts.connect;
    this.#cache = parts.cache;
    this.control = parts.control;
    this.uncountedStore = parts.store;
    this.#quotaBytes = parts.quotaBytes;
    this.#remote = parts.remote;
    this.#journal = parts.journal;
    this.#scratch = parts.scratch;
    this.plugin.schemaOf = (target) => (parts.sharesData ? 'shared' : target);
    this.targets = new Map(
      [PLASMO, TOXO].map((id) => [
        id,
        new PostgresInstallTarget(parts.control, {
          id,
          displayName: id,
          schema: 'control',
          dataSchema: this.plugin.schemaOf(id),
        }),
      ]),
    );
  }

  /**
   * Everything is gone with the test.
   * @param sharesData both targets have one data schema
   */
  static async open(
    t: Teardown,
    dir: string,
    {
      sharesData = false,
      quotaBytes = Number.MAX_SAFE_INTEGER,
      remote,
    }: { readonly sharesData?: boolean; readonly quotaBytes?: number; readonly remote?: RemoteFiles } = {},
  ): Promise<PostgresSite> {
    const at = await testDatabase(t);
    const options = { ...at, poolSize: 5, groups: true, idleTimeoutMs: 1_000, applicationName: 'test' };
    const connect = (schema: string) => new Postgres({ ...options, schema }, log);
    const control = connect('public');
    t.teardown(() => control[Symbol.asyncDispose]());
    await migrate(control, 'control', await controlMigrations(), never);
    const journal = new FakeChangeJournal();
    const store = await openDirectoryStore({ path: join(dir, 'store'), journal, clock: systemClock, log }, never);
    const scratch = new Scratch(join(dir, 'scratch'));
    const cache = await openCache(connect, store, quotaBytes);
    const site = new PostgresSite({
      ...{ connect, cache, control, store, journal, scratch, sharesData, quotaBytes, remote },
    });
    t.teardown(() => site.#close());
    return site;
  }

  /** Counts what is kept. */
  get store(): CountedStore {
    return this.#cache.store;
  }

  get kept(): PostgresStoredBytes {
    return this.#cache.kept;
  }

  get edits(): PostgresDatasetEdits {
    return this.#cache.edits;
  }

  get jobs(): PostgresJobs {
    return this.#cache.jobs;
  }

  get db(): Postgres {
    return this.#cache.db;
  }

  get catalog(): PostgresCatalog {
    return this.#cache.catalog;
  }

  get queries(): PostgresDatasetQueries {
    return this.#cache.queries;
  }

  get uploads(): PostgresUploads {
    return this.#cache.uploads;
  }

  async accept(upload: Upload, at: DatasetAddress): Promise<void> {
    await acceptUpload({ store: this.store, uploads: this.uploads }, upload, at, () => ++this.#lastEvent);
  }

  async enqueue(job: Pick<JobRequest, 'lane' | 'owner' | 'dataset' | 'source'>): Promise<void> {
    await this.#cache.jobs.enqueue([{ ...job, eventId: ++this.#lastEvent }], never);
  }

  /** Drops the cache's schema, jobs, leases and all, and makes an empty one. */
  async dropCache(): Promise<void> {
    await this.#close();
    await this.control.query('drop schema cache cascade');
    this.#cache = await openCache(this.#connect, this.uncountedStore, this.#quotaBytes);
  }

  /** Runs whatever is due until nothing is; `lane state` of the jobs that are left. */
  async finish(): Promise<readonly string[]> {
    for (let rounds = 0; rounds < ROUNDS; rounds++) {
      await this.#deliver();
      if ((await this.#round(this.#cache)) > 0) continue;
      const rows = await this.#cache.db.query<{ job: string }>(
        `select lane || ' ' || state as job from job order by 1`,
      );
      return rows.map(({ job }) => job);
    }
    throw new Error('jobs do not come to an end');
  }

  /** The same by several processes, each with connections and leases of its own, which claim beside each other. */
  async finishTogether(processes: number): Promise<readonly string[]> {
    const caches = await Promise.all(
      Array.from({ length: processes }, () => openCache(this.#connect, this.uncountedStore, this.#quotaBytes)),
    );
    try {
      for (let rounds = 0; rounds < ROUNDS; rounds++) {
        await this.#deliver();
        const ran = await Promise.all(caches.map((cache) => this.#round(cache)));
        if (ran.every((jobs) => jobs === 0)) return await this.finish();
      }
      throw new Error('jobs do not come to an end');
    } finally {
      for (const cache of caches) await closeCache(cache);
    }
  }

  async #round(cache: Cache): Promise<number> {
    const { jobs, catalog, uploads } = cache;
    const { store, targets, plugin } = this;
    const remote = this.#remote ? { remote: this.#remote } : {};
    const tasks = new InProcessTasks({ store, plugins: new Map([['genes', plugin]]), ...remote });
    const settings = {
      types: TYPES,
      tuning: TUNINGS,
      uploadLimits: { ...LIMITS, url: { ...LIMITS.url, quotaBytes: this.#quotaBytes } },
      scratch: this.#scratch,
    };
    const tools = { log, clock: systemClock, random: () => 0 };
    const options = { ...settings, ...tools, jobs, catalog, uploads, store, targets, tasks };
    const handlers = new Map<string, JobHandler>(laneHandlers(options).map((handler) => [handler.lane, handler]));
    let ran = 0;
    for (const lane of RUNNING_LANES) {
      const claim = { lane, limit: 1, crowdedTypes: [], blockedTypes: [] };
      for (let [job] = await jobs.completeAndFetch([], claim, never); job; ran++) {
        const handler = handlers.get(lane);
        assert(handler, lane);
        const outcome = await runJob(job, { ...tools, handler, tuning: TUNING }, never);
        this.outcomes.add(outcome.kind);
        const next: readonly ClaimedJob[] = await jobs.completeAndFetch([{ job, outcome }], claim, never);
        job = next[0];
      }
    }
    return ran;
  }

  async #deliver(): Promise<void> {
    const changes = this.#journal.delivered.slice(this.#delivered);
    this.#delivered = this.#journal.delivered.length;
    for (const change of changes) {
      const route = routeChange(change);
      if (route.kind !== 'lanes') continue;
      for (const lane of route.lanes) await this.enqueue({ lane, ...route.at, source: 'object-store' });
    }
  }

  async #close(): Promise<void> {
    await closeCache(this.#cache);
  }
}

async function closeCache({ instance, pools }: Cache): Promise<void> {
  await instance[Symbol.asyncDispose]();
  for (const pool of pools) await pool[Symbol.asyncDispose]();
}

async function openCache(
  connect: (schema: string) => Postgres,
  uncounted: DirectoryStore,
  quotaBytes: number,
): Promise<Cache> {
  const db = connect('cache');
  const [forEdits, forCounts] = [connect('cache'), connect('cache')];
  await migrate(db, 'cache', await cacheMigrations(), never);
  const instance = await PostgresInstance.open(db, { onGap: () => undefined }, systemClock, log, never);
  const kept = new PostgresStoredBytes(forCounts, instance.id, db.groupedOr(forCounts));
  return {
    db,
    pools: [db, forEdits, forCounts],
    edits: new PostgresDatasetEdits(forEdits),
    kept,
    store: new CountedStore(uncounted, kept, { quotaBytes, clock: systemClock, log }),
    instance,
    catalog: new PostgresCatalog(db),
    queries: new PostgresDatasetQueries(db),
    uploads: new PostgresUploads(db, { instance: instance.id }),
    jobs: new PostgresJobs(db, instance, systemClock),
  };
}
