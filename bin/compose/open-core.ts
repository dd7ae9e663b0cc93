// Opens what the lanes and the installer need: the cache DB with all its repositories, the object store, the install targets.
// If a later part fails, the scope closes what is open.

import { hostname } from 'node:os';
import type { Configuration, InstallTargetConfiguration, PluginConfiguration } from '../../config/configuration.ts';
import { PostgresCatalog } from '../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetIndex } from '../../engine/adapters/catalog/dataset-index-postgres.ts';
import { PostgresSlimPasses } from '../../engine/adapters/catalog/slim-passes-postgres.ts';
import { PostgresAccounts } from '../../engine/adapters/datasets/accounts-postgres.ts';
import { PostgresAuditLog } from '../../engine/adapters/datasets/audit-postgres.ts';
import { PostgresDatasetEdits } from '../../engine/adapters/datasets/dataset-edits-postgres.ts';
import { PostgresDatasetEvents } from '../../engine/adapters/datasets/dataset-events-postgres.ts';
import { PostgresDatasetQueries } from '../../engine/adapters/datasets/dataset-queries-postgres.ts';
import { PostgresDatasetReports } from '../../engine/adapters/datasets/dataset-reports-postgres.ts';
import { PostgresIdempotencyKeys } from '../../engine/adapters/idempotency/idempotency-keys-postgres.ts';
import { PostgresJobAdmin } from '../../engine/adapters/jobs/job-admin-postgres.ts';
import { PostgresJobCancels } from '../../engine/adapters/jobs/job-cancels-postgres.ts';
import { PostgresJobHistory } from '../../engine/adapters/jobs/job-history-postgres.ts';
import { PostgresJobs } from '../../engine/adapters/jobs/jobs-postgres.ts';
import { PostgresPauses } from '../../engine/adapters/jobs/pauses-postgres.ts';
import { PostgresProblems } from '../../engine/adapters/jobs/problems-postgres.ts';
import { PostgresEventMails } from '../../engine/adapters/mail/event-mails-postgres.ts';
import { cacheMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import { PostgresLeases } from '../../engine/adapters/postgres/leases-postgres.ts';
import type { TargetDatabase } from '../../engine/adapters/postgres/located-postgres.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import { RemoteHttp, type RemoteHttpOptions } from '../../engine/adapters/remote/remote-http.ts';
import { CountedStore } from '../../engine/adapters/uploads/counted-store.ts';
import { PostgresResumableUploads } from '../../engine/adapters/uploads/resumable-uploads-postgres.ts';
import { RoomWatch } from '../../engine/adapters/uploads/room-watch.ts';
import { PostgresStoredBytes } from '../../engine/adapters/uploads/stored-bytes-postgres.ts';
import { PostgresUploads } from '../../engine/adapters/uploads/uploads-postgres.ts';
import { PostgresWebhooks } from '../../engine/adapters/webhooks/webhooks-postgres.ts';
import { type DataType, DataTypes } from '../../engine/model/data-types.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { SiteGrants } from '../../engine/ports/access-requests.ts';
import type { TargetIndex } from '../../engine/ports/catalog.ts';
import type { Directory } from '../../engine/ports/directory.ts';
import type { ChangeQueue, EventLog } from '../../engine/ports/event-log.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { ObjectStore, StoreHold } from '../../engine/ports/object-store.ts';
import type { RemoteFiles } from '../../engine/ports/remote-files.ts';
import type { ResumableUploads, UploadBytes } from '../../engine/ports/resumable-uploads.ts';
import { transient } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';
import {
  auditConnection,
  CACHE_SCHEMA,
  cacheConnection,
  countsConnection,
  editsConnection,
  journalConnection,
  openDirectory,
} from './databases.ts';
import { openChangeQueue, openEventLog } from './event-log.ts';
import { openObjectStore } from './object-store.ts';
import { type OpenTarget, openTargets } from './target-databases.ts';

export interface Core {
  readonly db: Postgres;
  /** Identifies this process among all processes on the cache DB. */
  readonly instance: PostgresInstance;
  readonly accounts: PostgresAccounts;
  readonly audit: PostgresAuditLog;
  readonly catalog: PostgresCatalog;
  readonly queries: PostgresDatasetQueries;
  readonly edits: PostgresDatasetEdits;
  readonly reports: PostgresDatasetReports;
  readonly datasetEvents: PostgresDatasetEvents;
  readonly index: PostgresDatasetIndex;
  readonly slimPasses: PostgresSlimPasses;
  readonly uploads: PostgresUploads;
  readonly keys: PostgresIdempotencyKeys;
  readonly resumable: ResumableUploads;
  readonly uploadBytes: UploadBytes;
  readonly jobs: PostgresJobs;
  readonly jobAdmin: PostgresJobAdmin;
  readonly jobHistory: PostgresJobHistory;
  readonly pauses: PostgresPauses;
  readonly problems: PostgresProblems;
  readonly cancels: PostgresJobCancels;
  readonly webhooks: PostgresWebhooks;
  readonly eventMails: PostgresEventMails;
  readonly leases: PostgresLeases;
  readonly events: EventLog;
  readonly changes: ChangeQueue;
  /** Updates each owner's stored bytes. */
  readonly store: ObjectStore;
  /** The same store without counting. */
  readonly uncountedStore: ObjectStore;
  /** Undefined for a bucket. */
  readonly storeHold: StoreHold | undefined;
  readonly kept: PostgresStoredBytes;
  /** Recounts what crashed processes left half counted. */
  readonly sweepKept: (signal: AbortSignal) => Promise<number>;
  /** Checks for dependencies outside of the cache database. */
  readonly checks: readonly HealthCheck[];
  /** Finishes changes of the store that crashed processes left incomplete. */
  readonly settleStore: (signal: AbortSignal) => Promise<void>;
  readonly targets: ReadonlyMap<TargetId, InstallTarget>;
  /** Of the same targets. */
  readonly siteGrants: readonly SiteGrants[];
  /** Of the same targets. */
  readonly targetIndexes: readonly TargetIndex[];
  /** Undefined where uploads by URL are disabled. */
  readonly remoteFiles: RemoteFiles | undefined;
  /** Pools of the targets' control DBs, for health checks. */
  readonly targetPools: ReadonlyMap<TargetId, TargetDatabase>;
  /** Calls `listener` after each pause in which others may have considered this process dead. */
  readonly onGap: (listener: () => void) => void;
}

export interface CoreParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The caller has already waited for the dependencies (wait-for-dependencies.ts). */
export async function openCore(
  installer: Configuration['installer'],
  parts: CoreParts,
  scope: Scope,
  signal: AbortSignal,
): Promise<Core> {
  const { clock, log } = parts;
  const db = scope.use('cache database', new Postgres({ ...cacheConnection(installer.cacheDb), groups: true }, log));
  const applied = await migrate(db, CACHE_SCHEMA, await cacheMigrations(), signal);
  if (applied.length > 0) log.info({ applied }, 'cache database migrated');

  const listeners: (() => void)[] = [];
  const onGap = (): void => {
    for (const listener of listeners) listener();
  };
  const instance = await scope.open('process instance', PostgresInstance.open(db, { onGap }, clock, log, signal));
  const jobHistory = new PostgresJobHistory(db);
  const started = new Date(Math.round(performance.timeOrigin));
  await jobHistory.introduce({ instance: instance.id, host: hostname(), pid: process.pid, started }, signal);
  const { events, checks: logChecks } = await openEventLog(installer, { db, instance, ...parts }, scope);
  const journalDb = scope.use(
    'cache database for the journal of changes',
    new Postgres(journalConnection(installer.cacheDb), log),
  );
  const { changes, journal, checks } = await openChangeQueue(installer, { db: journalDb, instance, ...parts });
  const honorsHandOver = installer.logBroker.driver === 'postgres' && installer.queueBroker.driver === 'postgres';
  const objects = await openObjectStore(installer.objectStore, { journal, honorsHandOver, clock, log }, signal);
  const { store: openedStore, uploadBytes, hold: storeHold, settle } = scope.use('object store', objects);
  const uncountedStore = new RoomWatch(openedStore);
  const countsDb = scope.use('cache database for counts', new Postgres(countsConnection(installer.cacheDb), log));
  const kept = new PostgresStoredBytes(countsDb, instance.id, db.groupedOr(countsDb));
  const quotaBytes = installer.restService.userMaxStorageSize;
  const store = new CountedStore(uncountedStore, kept, { quotaBytes, clock, log });
  const auditDb = scope.use(
    'cache database for the audit trail',
    new Postgres(auditConnection(installer.cacheDb), log),
  );
  const directory = await openDirectory(installer.ldap, log);
  const { targets: installTargets, indexes: targetIndexes } = await openTargets(
    installer.installTargets,
    { directory, shared: installer.sharedTargetDbPooling, clock, log },
    scope,
  );
  const each = <Port>(port: (of: OpenTarget) => Port): ReadonlyMap<TargetId, Port> =>
    new Map([...installTargets].map(([id, of]) => [id, port(of)]));
  const remote = urlUploads(installer);
  return {
    db,
    instance,
    accounts: new PostgresAccounts(db),
    audit: new PostgresAuditLog(auditDb, db.groupedOr(auditDb)),
    catalog: new PostgresCatalog(db),
    queries: new PostgresDatasetQueries(db),
    edits: new PostgresDatasetEdits(
      scope.use('cache database for edits', new Postgres(editsConnection(installer.cacheDb), log)),
    ),
    reports: new PostgresDatasetReports(db),
    datasetEvents: new PostgresDatasetEvents(db),
    index: new PostgresDatasetIndex(db),
    slimPasses: new PostgresSlimPasses(db),
    uploads: new PostgresUploads(db, { instance: instance.id }),
    keys: new PostgresIdempotencyKeys(db),
    resumable: new PostgresResumableUploads(db, instance.id),
    uploadBytes,
    jobs: new PostgresJobs(db, instance, clock),
    jobAdmin: new PostgresJobAdmin(db),
    jobHistory,
    pauses: new PostgresPauses(db, instance),
    problems: new PostgresProblems(db),
    cancels: new PostgresJobCancels(db, instance),
    webhooks: new PostgresWebhooks(db, new PostgresDatasetEvents(db)),
    eventMails: new PostgresEventMails(db, new PostgresDatasetEvents(db)),
    leases: new PostgresLeases(db, instance),
    events,
    changes,
    store,
    uncountedStore,
    storeHold,
    kept,
    sweepKept: (until) => store.sweep(until),
    settleStore: settle,
    checks: [...logChecks, ...checks, fullCheck(uncountedStore), ...(directory ? [directoryCheck(directory)] : [])],
    targets: each(({ target }) => target),
    siteGrants: [...installTargets.values()].map(({ grants }) => grants),
    targetIndexes,
    targetPools: each(({ database }) => database),
    onGap: (listener) => void listeners.push(listener),
    remoteFiles: remote && scope.use('remote files', new RemoteHttp(remote)),
  };
}

/** After a write that found no room, the service is degraded until a write succeeds. Reads and deletions still work. */
const fullCheck = (store: RoomWatch): HealthCheck => ({
  name: 'object-store-room',
  vital: false,
  async probe() {
    if (store.isFull) throw transient('the store had no room for the last write');
  },
});

const directoryCheck = (directory: Directory): HealthCheck => ({
  name: 'directory',
  vital: false,
  probe: (signal) => directory.probe(signal),
});

/** Converts the configuration's plugins and targets into the engine's types. */
export function dataTypes(
  plugins: Readonly<Record<string, PluginConfiguration>>,
  targets: readonly InstallTargetConfiguration[],
): DataTypes {
  const types = Object.entries(plugins).flatMap(([plugin, entry]): DataType[] =>
    entry.dataTypes.map((type) => ({ ...type, name: type.name.toLowerCase(), plugin })),
  );
  return new DataTypes(
    types,
    targets.map((target) => ({ id: target.targetId, dataTypes: target.dataTypes })),
  );
}

// The options of uploads by URL, from the configuration.

/** Undefined when they are disabled. */
export function urlUploads({ restService }: Configuration['installer']): RemoteHttpOptions | undefined {
  const { enabled, allow, ports, maxRedirects, connectTimeoutMs, idleTimeoutMs } = restService.urlUploads;
  return enabled ? { allow, ports, maxRedirects, connectMs: connectTimeoutMs, idleMs: idleTimeoutMs } : undefined;
}
