// Every call that a caller may not make, about what exists and about what does not: the same answer, the same statements
// in the same order, and no mail. So neither the answer nor the time that it takes tells what exists.

import t, { type Test } from 'tap';
import { postgresProxy } from '../../support/postgres-proxy.ts';
import { type App, accessApp, enters, replace, serveAccess, TEXTS } from './access-app.ts';

/** Callers, by what they are. User 1 owns the site, 2 manages and 3 provides every dataset, 4 is staff. */
const CALLERS = {
  owner: '1',
  manager: '2',
  provider: '3',
  staff: '4',
  /** Manages dataset public alone. */
  'manager of another': '50',
  /** Has an approved request for dataset private. */
  'end user': '60',
  stranger: '30',
  guest: 'guest-1',
  nobody: undefined,
} as const;
type Name = keyof typeof CALLERS;

interface Target {
  /** What is asked about, as it stands in path or body. */
  readonly id: string | number | undefined;
  readonly path?: string;
  readonly body?: object;
}

interface Endpoint {
  /** Method and path of the route. */
  readonly route: string;
  /** Everybody else may not. */
  readonly allowed: readonly Name[];
  /** Things that exist, and things that do not. */
  readonly targets: readonly Target[];
}

const GOVERNORS: readonly Name[] = ['owner', 'manager'];
const VIEWERS: readonly Name[] = [...GOVERNORS, 'provider', 'staff'];
const EVERYBODY = Object.keys(CALLERS) as Name[];
const REGISTERED = EVERYBODY.filter((name) => name !== 'guest' && name !== 'nobody');
const KNOWN = EVERYBODY.filter((name) => name !== 'nobody');

const at = (base: string, ids: readonly (string | number)[], body?: object): readonly Target[] =>
  ids.map((id) => ({ id, path: `${base}${id}`, ...(body ? { body } : {}) }));

/** Somebody who is one already, somebody whom we know, somebody whom nobody knows; by number and by address. */
const PEOPLE = [{ userId: 60 }, { userId: 3 }, { userId: 999 }, ...['u60', 'u3', 'new'].map(addressed)];
function addressed(name: string): { readonly email: string } {
  return { email: `${name}@site.example` };
}

const DATASETS = ['private', 'nowhere'];
const inBody = (bodies: readonly object[]): readonly Target[] =>
  DATASETS.flatMap((datasetId) => bodies.map((body) => ({ id: undefined, body: { ...body, datasetId } })));

// Of others, of nobody, of a dataset that there is not; the last are for those who have one of their own.
const REQUESTS = ['61-private', '999-private', '999-nowhere'];
const EDIT = [replace('/approvalStatus', 'denied')];

const endpoints = (ids: { readonly staff: number; readonly provider: number }): readonly Endpoint[] => [
  {
    route: 'GET /staff',
    allowed: ['owner', 'staff'],
    targets: [{ id: undefined }, { id: undefined, path: '?offset=9' }],
  },
  {
    ...{ route: 'POST /staff', allowed: ['owner'] },
    targets: [4, 999].map((userId) => ({ id: undefined, body: { userId, isOwner: true } })),
  },
  { route: 'PATCH /staff/:id', allowed: ['owner'], targets: at('/', [ids.staff, 999], [replace('/isOwner', true)]) },
  { route: 'DELETE /staff/:id', allowed: ['owner'], targets: at('/', [ids.staff, 999]) },
  { route: 'GET /dataset-providers', allowed: VIEWERS, targets: at('?datasetId=', DATASETS) },
  {
    ...{ route: 'POST /dataset-providers', allowed: GOVERNORS },
    targets: inBody(PEOPLE.map((one) => ({ ...one, isManager: true }))),
  },
  {
    ...{ route: 'PATCH /dataset-providers/:id', allowed: GOVERNORS },
    targets: at('/', [ids.provider, 999], [replace('/isManager', true)]),
  },
  { route: 'DELETE /dataset-providers/:id', allowed: GOVERNORS, targets: at('/', [ids.provider, 999]) },
  { route: 'GET /dataset-end-users', allowed: VIEWERS, targets: at('?datasetId=', DATASETS) },
  {
    // For others; who asks for themselves is `end user` with 60, and may.
    ...{ route: 'POST /dataset-end-users', allowed: [...GOVERNORS, 'end user', 'provider'] },
    targets: inBody(PEOPLE.map((one) => ({ ...one, ...TEXTS }))),
  },
  {
    ...{ route: 'POST /dataset-end-users', allowed: GOVERNORS },
    targets: inBody(
      [{ userId: 61 }, { userId: 999 }, addressed('u61'), addressed('new')].map((one) => ({ ...one, ...TEXTS })),
    ),
  },
  { route: 'GET /dataset-end-users/:id', allowed: VIEWERS, targets: at('/', REQUESTS) },
  { route: 'PATCH /dataset-end-users/:id', allowed: GOVERNORS, targets: at('/', REQUESTS, EDIT) },
  { route: 'DELETE /dataset-end-users/:id', allowed: GOVERNORS, targets: at('/', REQUESTS) },
  { route: 'GET /permissions', allowed: KNOWN, targets: [{ id: undefined }] },
  { route: 'GET /permissions/:study', allowed: KNOWN, targets: at('/', DATASETS) },
  { route: 'GET /history', allowed: REGISTERED, targets: [{ id: undefined }, { id: undefined, path: '?limit=1' }] },
  { route: 'POST /approve-eligible-access-requests', allowed: [], targets: [{ id: undefined }] },
];

async function setup(t: Test) {
  const direct = await accessApp(t);
  await direct.call('1', 'POST', '/dataset-providers', { datasetId: 'public', userId: 50, isManager: true });
  await enters(direct, 60, 'private', { approvalStatus: 'approved' });
  await enters(direct, 61, 'private', {});
  // All have called before: what a first call writes is no part of the comparison.
  for (const who of Object.values(CALLERS)) if (who) await direct.call(who, 'GET', '/permissions');
  await direct.call('61', 'GET', '/permissions');
  const line = await postgresProxy(t, direct.at);
  const app = await serveAccess(t, { ...direct.at, port: line.port }, direct.clock);
  const { body } = await direct.call('1', 'GET', '/dataset-providers?datasetId=private');
  const { data } = body as { data: { providerId: number; user: { userId: number } }[] };
  const provider = data.find(({ user }) => user.userId === 3)?.providerId ?? 0;
  /** Answer and statements; what was asked about is left out of the answer. */
  const seen = async (who: string | undefined, { route }: Endpoint, target: Target, headers = {}): Promise<string> => {
    const [method = '', path = ''] = route.split(' ');
    // What the call before found out about the caller is not remembered for so long.
    await direct.clock.advance(FORGOTTEN_MS);
    line.watch();
    const url = path.replace(/\/:\w+$/, '') + (target.path ?? '');
    const { status, body: answer } = await app.call(who, method, url, target.body, headers);
    const text = JSON.stringify(answer) ?? '';
    const told = target.id === undefined ? text : text.replaceAll(String(target.id), '{id}');
    return JSON.stringify({ status, told, statements: line.statements });
  };
  return { app, direct, seen, table: endpoints({ staff: 2, provider }) };
}

const FORGOTTEN_MS = 1_000;

const state = async ({ db }: App): Promise<unknown> =>
  db.query(`select (select json_agg(s order by staff_id) from staff s) as staff,
    (select json_agg(p order by provider_id) from provider p) as providers,
    (select json_agg(e order by end_user_id) from end_user e) as requests,
    (select count(*) from end_user_history) as history, (select count(*) from people_audit) as audit,
    (select count(*) from outbox) as mails, (select count(*) from invitation) as invitations,
    (select count(*) from invited_address) as addresses`);

t.test('every unauthorised call is answered alike whatever exists, does the same, and sends nothing', async (t) => {
  const { app, direct, seen, table } = await setup(t);
  const before = await state(direct);
  let calls = 0;
  for (const endpoint of table)
    for (const name of EVERYBODY.filter((one) => !endpoint.allowed.includes(one))) {
      const views = new Set<string>();
      for (const target of endpoint.targets) {
        views.add(await seen(CALLERS[name], endpoint, target));
        calls++;
      }
      t.equal(views.size, 1, `${name}: ${endpoint.route}\n${[...views].join('\n')}`);
      const { status } = JSON.parse([...views][0] ?? '{}') as { status: number };
      const wanted = name === 'nobody' || endpoint.allowed.length === 0 ? 401 : 403;
      t.equal(status, wanted, `${name}: ${endpoint.route}`);
    }
  t.strictSame(await direct.mails(), []);
  t.strictSame(await state(direct), before, 'nothing was changed');
  const open = new Set(
    app.routes.filter(({ access }) => access === 'open').map(({ method, path }) => `${method} ${path}`),
  );
  t.strictSame(
    [...new Set(table.map(({ route }) => route))].sort(),
    app.routes
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !open.has(route))
      .sort(),
    'every route is here',
  );
  t.comment(`${calls} calls`);
});

t.test('a wrong administrator is refused alike', async (t) => {
  const { direct, seen, table } = await setup(t);
  const before = await state(direct);
  for (const endpoint of table.filter(({ route }) => /staff|approve/.test(route))) {
    const views = new Set<string>();
    for (const target of endpoint.targets)
      views.add(await seen(undefined, endpoint, target, { 'admin-token': 'b'.repeat(40) }));
    t.equal(views.size, 1, endpoint.route);
    t.match([...views][0], /^\{"status":403,.*"statements":\[\]\}$/, endpoint.route);
  }
  t.strictSame(await state(direct), before);
});

t.test('whoever may is told the difference', async (t) => {
  const { seen, table } = await setup(t);
  for (const endpoint of table.filter(
    ({ route, targets }) => targets.length > 1 && !/history|GET \/staff$/.test(route),
  )) {
    const views = new Set<string>();
    for (const target of [...endpoint.targets].reverse()) views.add(await seen('1', endpoint, target));
    t.ok(views.size > 1, endpoint.route);
  }
});
