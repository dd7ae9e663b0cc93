// Every changing request, with its line to the database cut at each of its statements, or its process killed there.

import t, { type Test } from 'tap';
import { postgresProxy } from '../../support/postgres-proxy.ts';
import {
  ADMIN_TOKEN,
  type App,
  accessApp,
  asks,
  dataset,
  enters,
  never,
  replace,
  serveAccess,
  TEXTS,
} from './access-app.ts';
import { counts, disagreements } from './books.ts';

interface Call {
  /** Undefined = the administrator. */
  readonly who: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

interface Change {
  readonly name: string;
  /** What it needs, made for `user`, who is nobody yet. */
  readonly call: (app: App, user: number) => Promise<Call>;
  readonly status: number;
  /** Once it has been done already. */
  readonly again: number;
  /** It happens beside what was asked for, now or at a later call. */
  readonly beside?: true;
}

const id = (user: number): string => `/dataset-end-users/${user}-protected`;
const staffId = async (app: App, user: number): Promise<number> => {
  const { body } = await app.call('1', 'POST', '/staff', { userId: user, isOwner: false });
  return (body as { staffId: number }).staffId;
};
const providerId = async (app: App, user: number): Promise<number> => {
  const { body } = await app.call('1', 'POST', '/dataset-providers', { ...PROVIDER, userId: user });
  return (body as { providerId: number }).providerId;
};
const PROVIDER = { datasetId: 'protected', isManager: false };
const REQUEST = { ...TEXTS, datasetId: 'protected' };
const post = (who: string, path: string, body: object): Call => ({ who, method: 'POST', path, body });
const patch = (who: string, path: string, ...body: object[]): Call => ({ who, method: 'PATCH', path, body });
const remove = (who: string, path: string): Call => ({ who, method: 'DELETE', path });
const stranger = (user: number): string => `stranger-${user}@lab.example`;

/** The request of the user, and then a call about it. */
const about =
  (more: object, call: (user: number) => Call): Change['call'] =>
  async (app, user) => {
    await enters(app, user, 'protected', more);
    return call(user);
  };

const CHANGES: readonly Change[] = [
  {
    name: 'staff is added',
    status: 200,
    again: 409,
    call: async (_, user) => post('1', '/staff', { userId: user, isOwner: true }),
  },
  {
    ...{ name: 'staff becomes owner', status: 204, again: 204 },
    call: async (app, user) => patch('1', `/staff/${await staffId(app, user)}`, replace('/isOwner', true)),
  },
  {
    ...{ name: 'staff is removed', status: 204, again: 404 },
    call: async (app, user) => remove('1', `/staff/${await staffId(app, user)}`),
  },
  {
    ...{ name: 'a provider is added', status: 200, again: 409 },
    call: async (_, user) => post('2', '/dataset-providers', { ...PROVIDER, userId: user }),
  },
  {
    ...{ name: 'a provider is invited', status: 200, again: 429 },
    call: async (_, user) => post('2', '/dataset-providers', { ...PROVIDER, email: stranger(user) }),
  },
  {
    ...{ name: 'a provider becomes manager', status: 204, again: 204 },
    call: async (app, user) =>
      patch('2', `/dataset-providers/${await providerId(app, user)}`, replace('/isManager', true)),
  },
  {
    ...{ name: 'a provider is removed', status: 204, again: 404 },
    call: async (app, user) => remove('1', `/dataset-providers/${await providerId(app, user)}`),
  },
  {
    ...{ name: 'a person asks', status: 200, again: 409 },
    call: async (_, user) => post(String(user), '/dataset-end-users', { ...REQUEST, userId: user }),
  },
  {
    ...{ name: 'a manager enters a person', status: 200, again: 409 },
    call: async (_, user) => post('2', '/dataset-end-users', { ...REQUEST, userId: user, approvalStatus: 'approved' }),
  },
  {
    ...{ name: 'a manager enters a person by address', status: 200, again: 409 },
    call: async (app, user) => {
      await app.call(String(user), 'GET', '/permissions');
      return post('2', '/dataset-end-users', { ...REQUEST, email: `u${user}@site.example` });
    },
  },
  {
    ...{ name: 'a person is invited', status: 200, again: 429 },
    call: async (_, user) => post('2', '/dataset-end-users', { ...REQUEST, email: stranger(user) }),
  },
  {
    ...{ name: 'a person edits', status: 204, again: 204 },
    call: about({}, (user) => patch(String(user), id(user), replace('/purpose', 'Other'), replace('priorAuth', 'New'))),
  },
  {
    ...{ name: 'a manager approves', status: 204, again: 204 },
    call: about({}, (user) => patch('2', id(user), replace('/approvalStatus', 'approved'), replace('/duration', 9))),
  },
  {
    ...{ name: 'a manager denies', status: 204, again: 204 },
    call: about({ approvalStatus: 'approved' }, (user) => patch('2', id(user), replace('/approvalStatus', 'denied'))),
  },
  {
    ...{ name: 'an owner edits', status: 204, again: 204 },
    call: about({}, (user) => patch('1', id(user), replace('/startDate', '2027-01-01T00:00:00Z'))),
  },
  {
    ...{ name: 'a manager changes nothing', status: 204, again: 204 },
    call: about({}, (user) => patch('2', id(user), replace('/purpose', TEXTS.purpose))),
  },
  {
    ...{ name: 'a change is refused', status: 422, again: 422 },
    call: about({}, (user) => patch('2', id(user), replace('/purpose', 'Other'), replace('/approvalStatus', 'none'))),
  },
  { name: 'a manager removes', status: 204, again: 404, call: about({}, (user) => remove('2', id(user))) },
  { name: 'a person withdraws', status: 204, again: 404, call: about({}, (user) => remove(String(user), id(user))) },
  {
    ...{ name: 'a request is approved by waiting', status: 204, again: 204 },
    call: async (app, user) => {
      await asks(app, user, 'controlled');
      return { who: undefined, method: 'POST', path: '/approve-eligible-access-requests' };
    },
  },
  ...(['/dataset-providers', '/dataset-end-users'] as const).map((path) => ({
    ...{ name: `who was invited by ${path} comes`, status: 200, again: 200, beside: true as const },
    call: async (app: App, user: number) => {
      const record = path === '/dataset-providers' ? PROVIDER : REQUEST;
      await app.call('2', 'POST', path, { ...record, email: `u${user}@site.example` });
      return { who: String(user), method: 'GET', path: '/permissions' };
    },
  })),
];

async function setup(t: Test) {
  const healthy = await accessApp(t);
  await healthy.catalogue.put([dataset('controlled', 'controlled', { daysForApproval: 0 })], never);
  const line = await postgresProxy(t, healthy.at);
  const cuttable = await serveAccess(t, { ...healthy.at, port: line.port }, healthy.clock);
  const status = async (app: App, { who, method, path, body }: Call): Promise<number> =>
    (await app.call(who, method, path, body, who === undefined ? { 'admin-token': ADMIN_TOKEN } : {})).status;
  let user = 10_000;
  const next = async (change: Change) => {
    const call = await change.call(healthy, ++user);
    const before = await counts(healthy.db);
    /** What there is more than before. */
    const added = async () => {
      const now = await counts(healthy.db);
      return Object.fromEntries(Object.entries(now).map(([name, count]) => [name, count - (before[name] ?? 0)]));
    };
    return { call, added };
  };
  return { healthy, cuttable, line, status, next };
}

const NOTHING = { history: 0, audit: 0, outbox: 0, invitations: 0, addresses: 0 };

const READ: Call = { who: '1', method: 'GET', path: '/staff' };

t.test('cut at every statement, a change is whole or not there, and can be asked for again', async (t) => {
  for (const change of CHANGES) t.test(change.name, (t) => cutEverywhere(t, change));
});

async function cutEverywhere(t: Test, change: Change): Promise<void> {
  const { healthy, cuttable, line, status, next } = await setup(t);
  const { call, added } = await next(change);
  line.watch();
  t.equal(await status(cuttable, call), change.status);
  const whole = await added();
  const statements = [...line.statements];
  t.equal(await status(cuttable, call), change.again, 'again');
  t.strictSame(await added(), whole, 'once');
  const commit = statements.indexOf('commit') + 1;
  for (let at = 1; at <= statements.length; at++)
    for (const when of ['before', 'after'] as const)
      for (const ends of ['connection', 'process'] as const) {
        const name = `${ends} ends ${when} ${at} of ${statements.length}`;
        const { call, added } = await next(change);
        line.cut({ at, when, ends });
        const answered = await status(cuttable, call);
        t.ok(line.struck, name);
        line.watch();
        if (answered !== 503) t.equal(answered, change.status, name);
        const committed = commit > 0 && (at > commit || (at === commit && when === 'after'));
        // What is said to be done is done.
        const done = committed || (answered === change.status && !change.beside);
        t.strictSame(await added(), done ? whole : NOTHING, name);
        t.strictSame(await disagreements(healthy.db), [], name);
        const repeated = await status(ends === 'process' ? healthy : cuttable, call);
        t.equal(repeated, done ? change.again : change.status, `${name}, and again`);
        t.strictSame(await added(), whole, `${name}: once`);
        // A process that was killed begins anew: its connections are all gone.
        if (ends === 'process') while ((await status(cuttable, READ)) !== 200);
      }
  t.strictSame(await disagreements(healthy.db), []);
}
