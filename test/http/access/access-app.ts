// The routes of the dataset access service behind the real pipeline and listener, over real databases and a clock that
// stands still. A bearer token is the user's id; `guest-7` is guest 7. User N has the address uN@site.example.

import { PostgresAccessCatalogue } from '../../../engine/adapters/access/catalogue.ts';
import { PostgresEndUsers } from '../../../engine/adapters/access/end-users.ts';
import { PostgresAccessHistory } from '../../../engine/adapters/access/history.ts';
import { PostgresAccessInvitations } from '../../../engine/adapters/access/invitations.ts';
import { PostgresAccessProviders } from '../../../engine/adapters/access/providers.ts';
import { PostgresAccessRoles, PostgresAccessStaff } from '../../../engine/adapters/access/staff.ts';
import { PostgresEnteredDatasets, PostgresGrants } from '../../../engine/adapters/access/user-datasets.ts';
import { WaitingApprovals } from '../../../engine/adapters/access/waiting-approvals.ts';
import { PostgresAccounts, PostgresAddressBook } from '../../../engine/adapters/datasets/accounts-postgres.ts';
import { PostgresUserDatasets, PostgresUserStudies } from '../../../engine/adapters/datasets/user-studies-postgres.ts';
import { PostgresIdempotencyKeys } from '../../../engine/adapters/idempotency/idempotency-keys-postgres.ts';
import { accessMigrations, cacheMigrations, migrate } from '../../../engine/adapters/migrations/migrations.ts';
import { Postgres } from '../../../engine/adapters/postgres/postgres.ts';
import type { MailDraft } from '../../../engine/model/access-mail.ts';
import { parseCuratedId, type RestrictionLevel } from '../../../engine/model/access-request.ts';
import type { CuratedDataset } from '../../../engine/ports/access-datasets.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { StudyIds } from '../../../http/access/asked-dataset.ts';
import { redeeming } from '../../../http/access/people.ts';
import { type AccessOptions, accessRoutes } from '../../../http/access/routes.ts';
import { apiDocs } from '../../../http/kernel/openapi/api-docs.ts';
import type { Route } from '../../../http/kernel/pipeline/route.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { ADMIN, httpApp } from '../http-app.ts';
import { type Answer, callAs, verify } from '../numbered-callers.ts';
import { PromisedAnswers } from './promised-answers.ts';

export const ADMIN_TOKEN = ADMIN;

export const never = new AbortController().signal;
export const DAY_MS = 86_400_000;

interface Teardown {
  teardown(fn: () => unknown): void;
}

export interface App {
  readonly at: TestDatabase;
  readonly url: string;
  readonly db: Postgres;
  readonly cache: Postgres;
  readonly clock: VirtualClock;
  readonly routes: readonly Route[];
  readonly catalogue: PostgresAccessCatalogue;
  /** @param body sent as JSON */
  call(user: string | undefined, method: string, path: string, body?: unknown, headers?: object): Promise<Answer>;
  /** Mails that are to be sent, oldest first. */
  mails(): Promise<readonly MailDraft[]>;
}

/** Waits of five days where requests are approved by waiting. */
export const dataset = (id: string, restrictionLevel: RestrictionLevel, more: Partial<CuratedDataset> = {}) => {
  const datasetId = parseCuratedId(id);
  if (!datasetId) throw new Error(`${id} is no id`);
  return {
    ...{ datasetId, studyId: `S-${id}`, sha1Hash: 'abc', displayName: `Study ${id}`, shortDisplayName: id },
    ...{ description: `About ${id}`, restrictionLevel, daysForApproval: -1, priorAuthLabel: '', mailFrom: '' },
    ...{ managerText: '', requesterText: '', approvalText: '' },
    ...more,
  };
};

export const LEVELS = ['public', 'prerelease', 'protected', 'controlled', 'private'] as const;

/** With one dataset of each level, named after it, owner 1 and, of every dataset, manager 2 and provider 3; staff 4. */
export async function accessApp(
  t: Teardown,
  options: Partial<AccessOptions> = {},
  clock = new VirtualClock(),
): Promise<App> {
  const app = await serveAccess(t, await testDatabase(t), clock, options);
  await migrate(app.cache, 'cache', await cacheMigrations(), never);
  await migrate(app.db, 'access', await accessMigrations(), never);
  await app.catalogue.put(
    LEVELS.map((level) => dataset(level, level)),
    never,
  );
  await addPeople(app.db);
  return app;
}

/** One process of the service, on a database that another may have made. */
export async function serveAccess(
  t: Teardown,
  at: TestDatabase,
  clock: VirtualClock,
  options: Partial<AccessOptions> = {},
): Promise<App> {
  const open = async (schema: string): Promise<Postgres> => {
    const db = new Postgres(
      { ...at, schema, poolSize: 8, idleTimeoutMs: 1_000, applicationName: 'test' },
      silentLogger(),
    );
    t.teardown(() => db[Symbol.asyncDispose]());
    return db;
  };
  const [cache, db] = [await open('cache'), await open('access')];
  const accounts = new PostgresAccounts(cache);
  const endUsers = new PostgresEndUsers(db);
  const invitations = new PostgresAccessInvitations(db);
  const catalogue = new PostgresAccessCatalogue(db);
  const userDatasets = new PostgresUserDatasets(cache);
  const entered = new PostgresEnteredDatasets(db);
  const routes = accessRoutes({
    roles: new PostgresAccessRoles(db),
    staff: new PostgresAccessStaff(db),
    providers: new PostgresAccessProviders(db),
    catalogue,
    endUsers,
    invitations,
    history: new PostgresAccessHistory(db),
    approvals: new WaitingApprovals(endUsers, { userDatasets, entered }, silentLogger()),
    addresses: new PostgresAddressBook(cache),
    userStudies: new PostgresUserStudies(cache),
    userDatasets,
    entered,
    grants: new PostgresGrants(db),
    accounts,
    clock,
    listAll: false,
    studyIds: new StudyIds(''),
    dependencies: [{ name: 'access-db', probe: (signal) => db.probe(signal) }],
    threads: () => 3,
    version: '1',
    ...options,
  });
  const remember = redeeming(
    { remember: async (caller) => void (caller.kind === 'user' && (await accounts.remember(caller.profile, never))) },
    invitations,
    clock,
    silentLogger(),
  );
  const docs = apiDocs(routes, { title: 'Longshore access', version: '1', basePath: '' });
  const { url } = await httpApp(t, [...routes, ...docs], {
    auth: { verify, queryToken: false, remember },
    keys: new PostgresIdempotencyKeys(db),
    url: { basePath: '' },
  });
  const promised = new PromisedAnswers(routes);
  const app: App = {
    ...{ at, url, db, cache, clock, routes, catalogue },
    call: async (user, method, path, body, headers = {}) => {
      const got = await callAs(user, method, url + path, body, headers);
      promised.demand(method, path, got.status, got.body);
      return got;
    },
    mails: async () =>
      (await db.query<{ draft: MailDraft }>('select draft from outbox order by mail_id')).map(({ draft }) => draft),
  };
  return app;
}

async function addPeople(db: Postgres): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(`select set_config('longshore.cause_user', '0', true),
      set_config('longshore.cause_time', '2026-01-01T00:00:00Z', true)`);
    await sql.query('insert into staff (user_id, is_owner) values (1, true), (4, false)');
    await sql.query(`insert into provider (user_id, dataset_id, is_manager)
      select u, dataset_id, u = 2 from curated_dataset, unnest(array[2, 3]) u order by dataset_id, u`);
  }, never);
}

/** As shown in lists; with names only if the user has called. */
export const shownUser = (id: number, known = true) => ({
  userId: id,
  firstName: known ? `F${id}` : '',
  lastName: known ? `L${id}` : '',
  organization: known ? `Lab ${id}` : '',
  email: known ? `u${id}@site.example` : '',
});

export const TEXTS = {
  purpose: 'To learn',
  researchQuestion: 'Why?',
  analysisPlan: 'Look',
  disseminationPlan: 'Tell',
  priorAuth: 'None',
};

/** A request of the user for themselves. */
export const asks = (app: App, user: number, datasetId: string): Promise<Answer> =>
  app.call(String(user), 'POST', '/dataset-end-users', { ...TEXTS, userId: user, datasetId });

/** A record made by the owner. */
export const enters = (app: App, user: number, datasetId: string, more: object): Promise<Answer> =>
  app.call('1', 'POST', '/dataset-end-users', { ...TEXTS, userId: user, datasetId, ...more });

export const replace = (path: string, value: unknown) => ({ op: 'replace', path, value });
