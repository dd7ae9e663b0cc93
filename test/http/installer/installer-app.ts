// The installer's routes behind the real pipeline and listener, over the cache database and an object store in memory.
// A bearer token is the user's id; `guest-7` is guest 7.

import { randomFillSync } from 'node:crypto';
import { FormData } from 'undici';
import { PostgresAccounts } from '../../../engine/adapters/datasets/accounts-postgres.ts';
import { PostgresAuditLog } from '../../../engine/adapters/datasets/audit-postgres.ts';
import { PostgresDatasetEdits } from '../../../engine/adapters/datasets/dataset-edits-postgres.ts';
import { PostgresDatasetEvents } from '../../../engine/adapters/datasets/dataset-events-postgres.ts';
import { PostgresDatasetQueries } from '../../../engine/adapters/datasets/dataset-queries-postgres.ts';
import { PostgresDatasetReports } from '../../../engine/adapters/datasets/dataset-reports-postgres.ts';
import { PostgresIdempotencyKeys } from '../../../engine/adapters/idempotency/idempotency-keys-postgres.ts';
import { PostgresJobAdmin } from '../../../engine/adapters/jobs/job-admin-postgres.ts';
import { PostgresJobCancels } from '../../../engine/adapters/jobs/job-cancels-postgres.ts';
import { PostgresJobHistory } from '../../../engine/adapters/jobs/job-history-postgres.ts';
import { PostgresPauses } from '../../../engine/adapters/jobs/pauses-postgres.ts';
import { PostgresProblems } from '../../../engine/adapters/jobs/problems-postgres.ts';
import { PostgresEventMails } from '../../../engine/adapters/mail/event-mails-postgres.ts';
import type { Postgres } from '../../../engine/adapters/postgres/postgres.ts';
import { CountedStore } from '../../../engine/adapters/uploads/counted-store.ts';
import { PostgresResumableUploads } from '../../../engine/adapters/uploads/resumable-uploads-postgres.ts';
import { PostgresStoredBytes } from '../../../engine/adapters/uploads/stored-bytes-postgres.ts';
import { PostgresUploads } from '../../../engine/adapters/uploads/uploads-postgres.ts';
import { PostgresWebhooks } from '../../../engine/adapters/webhooks/webhooks-postgres.ts';
import { LANES } from '../../../engine/model/event.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import { NO_GRANTS } from '../../../engine/ports/access-requests.ts';
import type { JobRequest } from '../../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { MetricsHistory } from '../../../engine/runtime/metrics-history.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { type ConsoleOptions, consoleRoutes } from '../../../http/installer/console/console-routes.ts';
import { SignInCodes } from '../../../http/installer/console/sign-in-codes.ts';
import { eventMetrics } from '../../../http/installer/events/event-routes.ts';
import { type InstallerOptions, type InstallerSettings, installerRoutes } from '../../../http/installer/routes.ts';
import { SignOuts } from '../../../http/kernel/auth/sign-outs.ts';
import type { Route } from '../../../http/kernel/pipeline/route.ts';
import { EMPTY_LOGS } from '../../fakes/empty-logs.ts';
import { FakePrunerControl, FakeReconcilerControl } from '../../fakes/fake-daemons.ts';
import { FakeFailedInstalls } from '../../fakes/fake-failed-installs.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { FakeProcessSettings } from '../../fakes/fake-process-settings.ts';
import { FakeUploadBytes } from '../../fakes/fake-upload-bytes.ts';
import { PRUNER_REPORT, RECONCILER_REPORT } from '../../fixtures/daemon-reports.ts';
import { anotherPool } from '../../support/database.ts';
import { ADMIN, httpApp, patientGuesses } from '../http-app.ts';
import { type Answer, callAs, verify } from '../numbered-callers.ts';
import { dataTypes, INSTALL_TARGETS } from './installation.ts';

export const ADMIN_TOKEN = ADMIN;
export const MIB = 1024 * 1024;

const settings: InstallerSettings = {
  maxUploadBytes: 2 * MIB,
  userMaxStorageBytes: 4 * MIB,
  uploadsPerUser: 2,
  resumablePerUser: 5,
  resumableExpiryMs: () => 86_400_000,
  waitingPerUser: 1_000,
  autoAcceptShares: false,
  retentionMs: 30 * 86_400_000,
  eventStreams: { perUser: 3, total: 10 },
  installTargets: INSTALL_TARGETS,
  webhooks: { enabled: true, allowHttp: false, perUser: 3 },
  mailsAreSent: true,
  buildInfo: { name: 'longshore', version: '1.2.3', node: 'v26' },
  reconciler: () => ({ enabled: true, fullRunInterval: '6h', slimRunInterval: '5m', performDeletes: true }),
};

export interface Teardown {
  teardown(fn: () => unknown): void;
}

export interface AppOptions {
  readonly settings?: Partial<InstallerSettings>;
  readonly remoteFiles?: InstallerOptions['remoteFiles'];
  readonly installStatus?: InstallerOptions['installStatus'];
  /** Time of the object store's objects, in ms; default: that of the system. */
  readonly now?: () => number;
  /** Default: no lane has anything to do. */
  readonly jobs?: InstallerOptions['jobs'];
  /** Default: that of the system. */
  readonly clock?: InstallerOptions['clock'];
  /** Default: there is no dataset access service. */
  readonly grants?: InstallerOptions['grants'];
  readonly processSettings?: InstallerOptions['processSettings'];
  /** Default: nothing is ever done. */
  readonly secondChances?: InstallerOptions['secondChances'];
  /** Of a living process, for claims of resumable uploads; default: one that is dead. */
  readonly instance?: number;
  /** Default: in memory. */
  readonly storage?: Pick<InstallerOptions, 'store' | 'uploadBytes'> & { readonly store: ObjectStore };
  /** Default: none. */
  readonly cors?: readonly string[];
  readonly storeHold?: InstallerOptions['storeHold'];
  /** Default: as `up --demo`, with tokens that nobody accepts. */
  readonly console?: Partial<ConsoleOptions>;
  /** One-time codes of the console; default: nobody knows one. */
  readonly codes?: SignInCodes;
  /** Default: those of the cache database. */
  readonly datasetEvents?: InstallerOptions['datasetEvents'];
}

/** That nobody asks. */
export const SIGN_OUTS = new SignOuts({ times: {}, write: async () => {}, lifetimeMs: 1, clock: systemClock });

const consoleOptions = (codes = new SignInCodes(systemClock, () => {})): ConsoleOptions => ({
  ...{ product: 'Longshore', version: '1.2.3', basePath: '', oidc: undefined, issuerOrigins: [] },
  services: () => ({}),
  local: {
    codes,
    signOuts: SIGN_OUTS,
    samples: [{ userId: '1' as UserId, name: 'Demo User', about: 'a sample' }],
    operatorToken: async () => 'operator',
    userToken: async () => 'user',
  },
  guesses: patientGuesses(),
});

const NEVER_BUSY: InstallerOptions['storeHold'] = {
  hold: async (ms) => new Date(Date.now() + ms),
  release: () => true,
};

export interface App {
  readonly url: string;
  readonly port: number;
  readonly store: FakeObjectStore;
  readonly accounts: PostgresAccounts;
  readonly uploads: PostgresUploads;
  readonly resumable: PostgresResumableUploads;
  readonly uploadBytes: FakeUploadBytes;
  readonly queries: PostgresDatasetQueries;
  readonly routes: readonly Route[];
  /** Of the dataset. */
  jobs(dataset: string): Promise<readonly Pick<JobRequest, 'lane' | 'owner' | 'source'>[]>;
  /** Resolves when the next upload was given up. */
  abandoned(): Promise<void>;
  call(user: string | undefined, method: string, path: string, init?: CallInit): Promise<Answer>;
}

export interface CallInit {
  readonly headers?: Record<string, string>;
  readonly body?: FormData | string;
}

export const PAUSABLE: InstallerOptions['pausable'] = {
  lane: LANES,
  plugin: ['genes'],
  target: ['AlphaDB', 'BetaDB'],
};

export const NO_CHANCES: InstallerOptions['secondChances'] = {
  page: async () => ({ problems: [], next: undefined }),
  causes: async () => [],
  counts: async () => new Map(),
  retry: async () => ({ lanes: [], next: undefined }),
  discard: async () => ({ lanes: [], next: undefined }),
};

export async function installerApp(t: Teardown, db: Postgres, options: AppOptions = {}): Promise<App> {
  const store = new FakeObjectStore(options.now ?? Date.now);
  const { instance = 1 } = options;
  const postgres = new PostgresUploads(db, { instance });
  let whenAbandoned = (): void => {};
  const uploads: InstallerOptions['uploads'] = {
    begin: (...args) => postgres.begin(...args),
    grow: (...args) => postgres.grow(...args),
    accept: (...args) => postgres.accept(...args),
    usage: (...args) => postgres.usage(...args),
    giveUp: (...args) => postgres.giveUp(...args),
    abandon: async (...args) => {
      await postgres.abandon(...args);
      whenAbandoned();
    },
  };
  const accounts = new PostgresAccounts(db);
  const resumable = new PostgresResumableUploads(db, instance);
  const uploadBytes = new FakeUploadBytes(store);
  const queries = new PostgresDatasetQueries(db);
  const problems = new PostgresProblems(db);
  let events = 0;
  const kept = new PostgresStoredBytes(anotherPool(t, db), 1);
  const { userMaxStorageBytes: quotaBytes } = { ...settings, ...options.settings };
  const api = installerRoutes({
    store: new CountedStore(options.storage?.store ?? store, kept, {
      quotaBytes,
      clock: systemClock,
      log: silentLogger(),
    }),
    uncountedStore: options.storage?.store ?? store,
    storeHold: 'storeHold' in options ? options.storeHold : NEVER_BUSY,
    kept,
    uploads,
    resumable,
    uploadBytes: options.storage?.uploadBytes ?? uploadBytes,
    onResumable: () => {},
    queries,
    edits: new PostgresDatasetEdits(db),
    reports: new PostgresDatasetReports(db),
    datasetEvents: options.datasetEvents ?? new PostgresDatasetEvents(db),
    eventMetrics: eventMetrics(new Metrics()),
    audit: new PostgresAuditLog(db),
    jobHistory: new PostgresJobHistory(db),
    pauses: new PostgresPauses(db, { listen: () => () => undefined }),
    cancels: new PostgresJobCancels(db, { id: 1, listen: () => () => undefined }),
    webhooks: new PostgresWebhooks(db, new PostgresDatasetEvents(db)),
    eventMails: new PostgresEventMails(db, new PostgresDatasetEvents(db)),
    pausable: PAUSABLE,
    history: new MetricsHistory(),
    logs: EMPTY_LOGS,
    failedInstalls: new FakeFailedInstalls(),
    problems,
    secondChances: options.secondChances ?? NO_CHANCES,
    processSettings: options.processSettings ?? new FakeProcessSettings(),
    sites: [],
    accounts,
    grants: options.grants ?? NO_GRANTS,
    eventLog: { nextEventId: async () => ++events },
    jobs: options.jobs ?? { depths: async () => [], enqueue: async () => undefined },
    jobAdmin: new PostgresJobAdmin(db),
    reconciler: new FakeReconcilerControl(RECONCILER_REPORT),
    pruner: new FakePrunerControl(PRUNER_REPORT),
    clock: options.clock ?? systemClock,
    log: silentLogger(),
    random: (bytes) => randomFillSync(bytes),
    dataTypes: dataTypes(),
    settings: { ...settings, ...options.settings },
    ...(options.remoteFiles ? { remoteFiles: options.remoteFiles } : {}),
    ...(options.installStatus ? { installStatus: options.installStatus } : {}),
  });
  const routes = [...consoleRoutes({ ...consoleOptions(options.codes), ...options.console }), ...api];
  const { url, port } = await listen(t, routes, {
    keys: new PostgresIdempotencyKeys(db),
    ...(options.cors ? { cors: options.cors } : {}),
  });
  return {
    url,
    port,
    store,
    accounts,
    uploads: postgres,
    resumable,
    uploadBytes,
    queries,
    routes,
    jobs: (dataset) =>
      db.query('select lane, owner::text as owner, source from job where dataset_id = $1 order by id', [dataset]),
    abandoned: () =>
      new Promise((resolve) => {
        whenAbandoned = resolve;
      }),
    call: (user, method, path, init = {}) => callAs(user, method, url + path, init.body, init.headers),
  };
}

/** Serves the routes on a port of their own until the test ends. */
export const listen = (
  t: Teardown,
  routes: readonly Route[],
  more: Pick<Parameters<typeof httpApp>[2] & object, 'cors' | 'keys'> = {},
) => httpApp(t, routes, { auth: { verify }, url: { basePath: '' }, ...more });

/** Parts in order: `[name, text]`, or `[name, bytes, fileName]`. */
export type FormPart = readonly [string, string] | readonly [string, string | Buffer, string];

export function form(...parts: readonly FormPart[]): FormData {
  const made = new FormData();
  for (const [name, content, fileName] of parts) {
    if (fileName === undefined) made.append(name, String(content));
    else made.append(name, new Blob([Uint8Array.from(Buffer.from(content))]), fileName);
  }
  return made;
}

export const post = (app: App, user: string, ...parts: readonly FormPart[]): Promise<Answer> =>
  app.call(user, 'POST', '/datasets', { body: form(...parts) });

export const detailsPart = (details: object): FormPart => ['details', JSON.stringify(details)];

/** What is left of a user's uploads: rows, reserved bytes, objects (of everybody). */
export async function remains(app: App, db: Postgres, user: UserId): Promise<Record<string, unknown>> {
  const [rows] = await db.query<{ uploads: number; datasets: number }>(
    `select (select count(*) from upload where owner_id = $1::numeric) as uploads,
       (select count(*) from dataset where owner_id = $1::numeric) as datasets`,
    [user],
  );
  return { ...rows, reserved: await app.uploads.usage(user, new AbortController().signal), objects: app.store.keys() };
}
export const NOTHING = { uploads: 0, datasets: 0, reserved: 0, objects: [] };

/** A data file that suits the sound details. */
export const FILE: FormPart = ['dataFile', 'PF3D7_0100100\n', 'genes.txt'];
