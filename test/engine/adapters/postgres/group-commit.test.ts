// Statements that share a transaction. How the adapters use it: catalog-groups.test.ts.

import t, { type Test } from 'tap';
import { LOCK_MS } from '../../../../engine/adapters/postgres/group-commit.ts';
import { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { testDatabase } from '../../../support/database.ts';
import { postgresProxy } from '../../../support/postgres-proxy.ts';

const never = new AbortController().signal;
const LOST = { kind: 'transient', unreachable: true, message: /^database t_/ };

async function setup(t: Test) {
  const at = await testDatabase(t);
  const proxy = await postgresProxy(t, at);
  const options = {
    ...at,
    schema: 'public',
    poolSize: 3,
    groups: true,
    idleTimeoutMs: 10_000,
    applicationName: 'test',
  };
  const open = (): Postgres => {
    const opened = new Postgres({ ...options, port: proxy.port }, silentLogger());
    t.teardown(() => opened[Symbol.asyncDispose]());
    return opened;
  };
  const db = open();
  await db.query('create table kept (n int primary key, changes int not null default 0)');
  /** The number of the transaction that added it. */
  const add = async (n: number, by = db): Promise<string> => {
    const text = 'insert into kept values ($1) returning n, pg_current_xact_id()::text as id';
    const [row] = await by.grouped.query<{ n: number; id: string }>(text, [n], 'add');
    t.equal(row?.n, n);
    return row?.id as string;
  };
  const kept = async () => (await db.grouped.query<{ n: number }>('select n from kept order by n')).map(({ n }) => n);
  return { db, open, proxy, options, add, kept };
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const transactions = (ids: readonly string[]): number => new Set(ids).size;

t.test('those that wait at the same time share a transaction, and the next ones another', async (t) => {
  const { add, kept } = await setup(t);
  const first = await Promise.all(range(1, 5).map((n) => add(n)));
  const second = await Promise.all(range(6, 8).map((n) => add(n)));
  t.same([transactions(first), transactions(second), transactions([...first, ...second])], [1, 1, 2]);
  t.same(await kept(), range(1, 8));
});

t.test('what comes while a group is under way gathers until its end', async (t) => {
  const { db, add } = await setup(t);
  let id = '';
  const slow = db.grouped.query<{ id: string }>(`select pg_current_xact_id()::text as id from pg_sleep(0.2)`);
  for (let active = false; !active; )
    active =
      (await db.query(`select from pg_stat_activity where query ~ 'pg_sleep' and pid <> pg_backend_pid()`)).length > 0;
  const waiting = [add(1), add(2)];
  await db.query('select 1');
  waiting.push(add(3));
  id = (await slow)[0]?.id as string;
  const ids = await Promise.all(waiting);
  t.equal(transactions(ids), 1);
  t.notOk(ids.includes(id));
});

t.test('a statement sees what those before it in its group have done', async (t) => {
  const { db, add } = await setup(t);
  const [, rows] = await Promise.all([add(1), db.grouped.query('select n from kept'), add(2)]);
  t.strictSame(rows, [{ n: 1 }]);
});

t.test('a group is bounded, in statements and in characters', async (t) => {
  const { db, add } = await setup(t);
  t.equal(transactions(await Promise.all(range(1, 33).map((n) => add(n)))), 2);
  const long = async (characters: number): Promise<string> => {
    const text = 'select pg_current_xact_id()::text as id where length(($1::text[])[1]) > 0';
    const [row] = await db.grouped.query<{ id: string }>(text, [['x'.repeat(characters)]]);
    return row?.id as string;
  };
  t.equal(transactions(await Promise.all([long(70_000), long(70_000), long(30_000)])), 2);
  t.equal(
    transactions(await Promise.all([long(1), long(200_000), long(1)])),
    2,
    'one that is larger than a group may be',
  );
});

t.test('one that fails is undone alone, and so are those that cannot be sent', async (t) => {
  const { db, add, kept } = await setup(t);
  const values = {
    toPostgres: () => {
      throw new Error('no such value');
    },
  };
  const results = await Promise.allSettled([
    add(1),
    db.grouped.query('insert into kept values ($1), ($1)', [2]),
    add(3),
    db.grouped.query('insert into nothing values ($1)', [2]),
  ]);
  t.match(results, [
    { status: 'fulfilled' },
    { status: 'rejected', reason: { kind: 'defect', message: /duplicate key/ } },
    { status: 'fulfilled' },
    { status: 'rejected', reason: { kind: 'defect', message: /"nothing" does not exist/ } },
  ]);
  t.match(await Promise.allSettled([add(4), db.grouped.query('select $1', [values]), add(5)]), [
    { status: 'fulfilled' },
    { status: 'rejected', reason: { kind: 'transient', message: /no such value/ } },
    { status: 'fulfilled' },
  ]);
  t.equal(transactions(await Promise.all([add(6), add(7)])), 1, 'then groups as before');
  t.same(await kept(), [1, 3, 4, 5, 6, 7]);
});

t.test(
  'a row that is locked for long delays others by no more than a lock may take, even when the pool is busy',
  async (t) => {
    const { db, add, kept } = await setup(t);
    await add(1);
    const change = 'update kept set changes = changes + 1 where n = $1';
    let waiting: Promise<unknown> | undefined;
    await db.transaction(async (sql) => {
      await sql.query(change, [1]);
      waiting = db.grouped.query(change, [1]);
      await Promise.all([add(2), add(3)]);
      t.same(await kept(), [1, 2, 3], `after about ${LOCK_MS} ms`);
      await add(4);
    }, never);
    await waiting;
    t.strictSame(await db.query('select changes from kept where n = 1'), [{ changes: 2 }]);
  },
);

t.test('groups that lock the same rows in opposite orders both end', async (t) => {
  const { db, open, add } = await setup(t);
  const other = open();
  await Promise.all(range(1, 20).map((n) => add(n)));
  const change = (by: Postgres, n: number) =>
    by.grouped.query('update kept set changes = changes + 1 where n = $1', [n], 'change');
  for (let round = 0; round < 5; round++)
    await Promise.all([...range(1, 20).map((n) => change(db, n)), ...range(1, 20).map((n) => change(other, 21 - n))]);
  t.strictSame(await db.query('select distinct changes from kept'), [{ changes: 10 }]);
});

t.test(
  'a connection that is lost fails the whole group, committed or not, and the next one gets another',
  async (t) => {
    const { db, proxy, add, kept } = await setup(t);
    await add(1);
    proxy.cut({ at: 2, when: 'before', ends: 'connection' });
    for (const result of await Promise.allSettled([add(2), add(3), add(4)])) t.match(result, { reason: LOST });
    t.same(await kept(), [1]);
    proxy.cut({ at: 2, when: 'after', ends: 'connection' });
    for (const result of await Promise.allSettled([add(2), add(3), add(4)])) t.match(result, { reason: LOST });
    t.same(await kept(), range(1, 4), 'the server had committed; only the answer was lost');
    const kill = db.grouped.query('select pg_terminate_backend(pg_backend_pid())');
    for (const result of await Promise.allSettled([add(5), kill, add(6)])) t.match(result, { reason: LOST });
    t.equal(transactions(await Promise.all([add(5), add(6)])), 1);
    t.same(await kept(), range(1, 6));
  },
);

t.test(
  'a server that says nothing for too long fails the group, and the next one gets another connection',
  async (t) => {
    const { options, add, proxy, kept } = await setup(t);
    const db = new Postgres({ ...options, port: proxy.port, answerMs: 2_000 }, silentLogger());
    t.teardown(() => db[Symbol.asyncDispose]());
    await add(1, db);
    for (const when of ['before', 'after'] as const) {
      proxy.cut({ at: 1, when, ends: 'answers' });
      const results = await Promise.allSettled([add(2, db), add(3, db)]);
      for (const result of results) t.match(result, { reason: LOST });
      proxy.watch();
      t.same(await kept(), when === 'before' ? [1] : [1, 2, 3]);
    }
    t.equal(transactions(await Promise.all([add(4, db), add(5, db)])), 1);
  },
);

t.test('without a connection for groups, the statements go to the pool', async (t) => {
  const { db, options, add } = await setup(t);
  const one = new Postgres({ ...options, poolSize: 1 }, silentLogger());
  t.teardown(() => one[Symbol.asyncDispose]());
  t.equal(transactions(await Promise.all([add(1, one), add(2, one)])), 2, 'a pool of one connection has none');

  const user = `${options.database}_user`;
  await db.query(`create role ${user} login password 'x' connection limit 1`);
  await db.query(`grant all on kept to ${user}`);
  const limited = new Postgres({ ...options, user, password: 'x' }, silentLogger());
  t.teardown(async () => {
    await limited[Symbol.asyncDispose]();
    await db.query(`drop owned by ${user}`);
    await db.query(`drop role ${user}`);
  });
  await limited.query('select 1');
  t.equal(transactions([await add(3, limited), await add(4, limited)]), 2, 'the server accepts no other');
});
