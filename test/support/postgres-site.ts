// A little site on the real stores: cache and control schemas on PostgreSQL, objects in a directory, one plugin, and one
// process that runs the lanes' jobs one after the other.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { routeChange } from '../../actors/events/routing.ts';
import type { JobHandler } from '../../actors/jobs/job-handler.ts';
import { runJob } from '../../actors/jobs/job-lane.ts';
import { Scratch } from '../../actors/jobs/scratch.ts';
import { laneHandlers, RUNNING_LANES } from '../../actors/topology.ts';
import { PostgresCatalog } from '../../engine/adapters/catalog-postgres.ts';
import { PostgresDatasetQueries } from '../../engine/adapters/dataset-queries-postgres.ts';
import { type DirectoryStore, openDirectoryStore } from '../../engine/adapters/directory-store.ts';
import { PostgresInstallTarget } from '../../engine/adapters/install-target-postgres.ts';
import { enqueueJobs, PostgresJobs } from '../../engine/adapters/jobs-postgres.ts';
import { cacheMigrations } from '../../engine/adapters/migrations/cache.ts';
import { controlMigrations } from '../../engine/adapters/migrations/control.ts';
import { migrate } from '../../engine/adapters/migrations.ts';
import { Postgres } from '../../engine/adapters/postgres.ts';
import { PostgresInstance } from '../../engine/adapters/postgres-instance.ts';
import { PostgresUploads } from '../../engine/adapters/uploads-postgres.ts';
import { silentLogger } from '../../engine/log.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobOutcome, JobRequest } from '../../engine/ports/jobs.ts';
import { systemClock } from '../../engine/time.ts';
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
  readonly store: DirectoryStore;
  readonly targets: ReadonlyMap<typeof PLASMO, InstallTarget>;
  readonly control: Postgres;
  /** How jobs ended, each kind once. */
  readonly outcomes = new Set<JobOutcome['kind']>();
  readonly #connect: (schema: string) => Postgres;
  readonly #journal: FakeChangeJournal;
  readonly #scratch: Scratch;
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
  }) {
    this.#connect = parts.connect;
    this.#cache = parts.cache;
    this.control = parts.control;
    this.store = parts.store;
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
  static async open(t: Teardown, dir: string, sharesData = false): Promise<PostgresSite> {
    const at = await testDatabase(t);
    const options = { ...at, poolSize: 4, idleTimeoutMs: 1_000, applicationName: 'test' };
    const connect = (schema: string) => new Postgres({ ...options, schema }, log);
    const control = connect('public');
    t.teardown(() => control[Symbol.asyncDispose]());
    await migrate(control, 'control', await controlMigrations(), never);
    const journal = new FakeChangeJournal();
    const store = await openDirectoryStore({ path: join(dir, 'store'), journal, clock: systemClock, log }, never);
    const scratch = new Scratch(join(dir, 'scratch'));
    const cache = await openCache(connect);
    const site = new PostgresSite({ connect, cache, control, store, journal, scratch, sharesData });
    t.teardown(() => site.#close());
    return site;
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
    this.#cache = await openCache(this.#connect);
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
    const caches = await Promise.all(Array.from({ length: processes }, () => openCache(this.#connect)));
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
    const tasks = new InProcessTasks({ store, plugins: new Map([['genes', plugin]]) });
    const settings = {
      types: TYPES,
      tuning: TUNINGS,
      uploadLimits: LIMITS,
      scratch: this.#scratch,
      remoteFiles: undefined,
    };
    const tools = { log, clock: systemClock, random: () => 0 };
    const options = { ...settings, ...tools, jobs, catalog, uploads, store, targets, tasks };
    const handlers = new Map<string, JobHandler>(laneHandlers(options).map((handler) => [handler.lane, handler]));
    let ran = 0;
    for (const lane of RUNNING_LANES) {
      const claim = { lane, limit: 1, crowdedTypes: [], blockedTypes: [] };
      for (let [job] = await jobs.exchange([], claim, never); job; ran++) {
        const handler = handlers.get(lane);
        assert(handler, lane);
        const outcome = await runJob(job, { ...tools, handler, tuning: TUNING }, never);
        this.outcomes.add(outcome.kind);
        const next: readonly ClaimedJob[] = await jobs.exchange([{ job, outcome }], claim, never);
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

async function closeCache({ instance, db }: Cache): Promise<void> {
  await instance[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
}

async function openCache(connect: (schema: string) => Postgres): Promise<Cache> {
  const db = connect('cache');
  await migrate(db, 'cache', await cacheMigrations(), never);
  const instance = await PostgresInstance.open(db, { onGap: () => undefined }, systemClock, log, never);
  return {
    db,
    instance,
    catalog: new PostgresCatalog(db),
    queries: new PostgresDatasetQueries(db),
    uploads: new PostgresUploads(db, { instance: instance.id, enqueueJobs }),
    jobs: new PostgresJobs(db, instance, systemClock),
  };
}
