// Cuts the line to the database at each statement of a change, or kills the process there.

import type { Test } from 'tap';
import { type Cut, postgresProxy } from '../../support/postgres-proxy.ts';
import { sampled } from '../../support/sampled.ts';
import { ADMIN_TOKEN, type App, accessApp, dataset, enters, never, serveAccess, TEXTS } from './access-app.ts';
import { counts, disagreements } from './books.ts';

export interface Call {
  /** Undefined = the administrator. */
  readonly who: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Its Idempotency-Key. */
  readonly key?: string;
}

export interface Change {
  readonly name: string;
  /** What it needs, made for `user`, who is nobody yet. */
  readonly call: (app: App, user: number) => Promise<Call>;
  readonly status: number;
  /** Once it has been done already. */
  readonly again: number;
  /** It happens beside what was asked for, now or at a later call. */
  readonly beside?: true;
}

export const PROVIDER = { datasetId: 'protected', isManager: false };
export const REQUEST = { ...TEXTS, datasetId: 'protected' };
export const post = (who: string, path: string, body: object): Call => ({ who, method: 'POST', path, body });
export const patch = (who: string, path: string, ...body: object[]): Call => ({ who, method: 'PATCH', path, body });
export const remove = (who: string, path: string): Call => ({ who, method: 'DELETE', path });
/** Of somebody without account. */
export const stranger = (user: number): string => `stranger-${user}@lab.example`;
export const requestPath = (user: number): string => `/dataset-end-users/${user}-protected`;

/** The same with a key: done once, and answered as if it were done now however often it is asked for. */
export const keyed = ({ name, status, call }: Change): Change => ({
  ...{ name: `${name}, with a key`, status, again: status },
  call: async (app, user) => ({ ...(await call(app, user)), key: `key-of-${user}` }),
});

/** `status` at first, `again` once it has been done already. */
export const change = (name: string, status: number, again: number, call: Change['call']): Change => ({
  ...{ name, status, again, call },
});

/** The request of the user, and then a call about it. */
export const about =
  (more: object, call: (user: number) => Call): Change['call'] =>
  async (app, user) => {
    await enters(app, user, 'protected', more);
    return call(user);
  };

async function setup(t: Test) {
  const healthy = await accessApp(t);
  await healthy.catalogue.put([dataset('controlled', 'controlled', { daysForApproval: 0 })], never);
  const line = await postgresProxy(t, healthy.at);
  const cuttable = await serveAccess(t, { ...healthy.at, port: line.port }, healthy.clock);
  const status = async (app: App, { who, method, path, body, key }: Call): Promise<number> => {
    const headers = {
      ...(who === undefined ? { 'admin-token': ADMIN_TOKEN } : {}),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    };
    return (await app.call(who, method, path, body, headers)).status;
  };
  let user = 10_000;
  const next = async (change: Change) => {
    // The same statements each time: what was found out about a caller is not remembered for so long.
    await healthy.clock.advance(FORGOTTEN_MS);
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

const FORGOTTEN_MS = 1_000;
const NOTHING = { history: 0, audit: 0, outbox: 0, invitations: 0, addresses: 0 };
const READ: Call = { who: '1', method: 'GET', path: '/staff' };

/** Whole or not there; answered as what it is; can be asked for again; and the books agree. */
export async function cutEverywhere(t: Test, changes: readonly Change[]): Promise<void> {
  const world = await setup(t);
  for (const change of changes) await t.test(change.name, (t) => cutOne(t, world, change));
}

async function cutOne(t: Test, world: Awaited<ReturnType<typeof setup>>, change: Change): Promise<void> {
  const { healthy, cuttable, line, status, next } = world;
  const { call, added } = await next(change);
  line.watch();
  t.equal(await status(cuttable, call), change.status);
  const whole = await added();
  const statements = [...line.statements];
  t.equal(await status(cuttable, call), change.again, 'again');
  t.strictSame(await added(), whole, 'once');
  const commit = statements.indexOf('commit') + 1;
  const nameOf = (cut: Cut): string => `${cut.ends} ends ${cut.when} ${cut.at} of ${statements.length}`;
  for (const cut of sampled(cutsOf(statements.length), (cut) => `${change.name} ${nameOf(cut)}`)) {
    const name = nameOf(cut);
    const { call, added } = await next(change);
    line.cut(cut);
    const answered = await status(cuttable, call);
    t.ok(line.struck, name);
    line.watch();
    if (answered !== 503) t.equal(answered, change.status, name);
    const committed = commit > 0 && (cut.at > commit || (cut.at === commit && cut.when === 'after'));
    // What is said to be done is done.
    const done = committed || (answered === change.status && !change.beside);
    t.strictSame(await added(), done ? whole : NOTHING, name);
    t.strictSame(await disagreements(healthy.db), [], name);
    // The claim of a request that could not release it.
    await healthy.db.query('delete from idempotency_key where answer is null');
    const repeated = await status(cut.ends === 'process' ? healthy : cuttable, call);
    t.equal(repeated, done ? change.again : change.status, `${name}, and again`);
    t.strictSame(await added(), whole, `${name}: once`);
    // A process that was killed begins anew: its connections are all gone.
    if (cut.ends === 'process') while ((await status(cuttable, READ)) !== 200);
  }
  t.strictSame(await disagreements(healthy.db), []);
}

/** Killed before a statement, a process has done as much as killed after the one before it. */
const cutsOf = (statements: number): readonly Cut[] =>
  Array.from({ length: statements }, (_, i) => i + 1).flatMap((at): readonly Cut[] => [
    { at, when: 'before', ends: 'connection' },
    { at, when: 'after', ends: 'connection' },
    ...(at === 1 ? [{ at, when: 'before', ends: 'process' } as const] : []),
    { at, when: 'after', ends: 'process' },
  ]);
