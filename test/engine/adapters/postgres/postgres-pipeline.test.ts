import pg from 'pg';
import t from 'tap';
import { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { testDatabase } from '../../../support/database.ts';
import { freePort } from '../../../support/ports.ts';

const LOST = { kind: 'transient', unreachable: true, message: /^database t_/ };
const never = new AbortController().signal;
const MOST = 16;
const GATE = 4711;
/** Answered once the gate is open. */
const GATED = `select pg_advisory_xact_lock_shared(${GATE})::text, pg_backend_pid() as pid, $1::int as n`;

interface Gated {
  readonly pid: number;
  readonly n: number;
}

async function setup(test: Parameters<typeof testDatabase>[0], poolSize: number) {
  const at = await testDatabase(test);
  const options = { ...at, schema: 'public', poolSize, idleTimeoutMs: 10_000, applicationName: 'reads' };
  const db = new Postgres(options, silentLogger());
  const gate = new pg.Client(at);
  await gate.connect();
  test.teardown(async () => {
    await gate.end();
    await db[Symbol.asyncDispose]();
  });
  return {
    options,
    db,
    gate: {
      shut: () => gate.query('select pg_advisory_lock($1)', [GATE]),
      open: () => gate.query('select pg_advisory_unlock($1)', [GATE]),
      /** Resolves when so many connections wait before it. */
      async awaited(count: number): Promise<void> {
        const waiting = `select 1 from pg_locks where locktype = 'advisory' and objid = ${GATE} and not granted`;
        while ((await gate.query(waiting)).rowCount !== count);
      },
      endReaders: () =>
        gate.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'reads'"),
    },
    read: async (n: number): Promise<Gated> => (await db.lookUp<Gated>(GATED, [n], 'gated'))[0] as Gated,
  };
}

t.test('finds what a query finds, each read its own', async (t) => {
  const { db } = await setup(t, 3);
  await db.query('create table kept (n int primary key, big bigint, at timestamptz, text text)');
  await db.query("insert into kept select n, n * 1000000, now() + n * interval '1 hour' from generate_series(1, 40) n");
  const text = 'select * from kept where n = $1';
  const asked = Array.from({ length: 41 }, (_, n) => n);
  t.strictSame(
    await Promise.all(asked.map((n) => db.lookUp(text, [n], 'kept'))),
    await Promise.all(asked.map((n) => db.query(text, [n]))),
  );
});

t.test('reads at the same time share a connection, as many as may be', async (t) => {
  const { gate, read } = await setup(t, 2);
  await gate.shut();
  const shared = Array.from({ length: MOST }, (_, n) => read(n));
  await gate.awaited(1);
  const other = read(MOST);
  await gate.awaited(2);
  await gate.open();
  const answers = await Promise.all(shared);
  t.strictSame(
    answers.map(({ n }) => n),
    answers.map((_, n) => n),
  );
  const [pid] = new Set(answers.map((answer) => answer.pid));
  t.ok(answers.every((answer) => answer.pid === pid));
  t.not((await other).pid, pid);
});

t.test('who waits for the connection has it before reads that come later', async (t) => {
  const { db, gate, read } = await setup(t, 1);
  const order: string[] = [];
  const noting = async (name: string, work: Promise<unknown>): Promise<void> => {
    await work;
    order.push(name);
  };
  await gate.shut();
  const first = noting('first', read(1));
  await gate.awaited(1);
  const all = [
    first,
    noting('second', read(2)),
    noting(
      'work',
      db.transaction((sql) => sql.query('select 1'), never),
    ),
  ];
  all.push(noting('late', read(3)));
  await gate.open();
  await Promise.all(all);
  t.strictSame(order, ['first', 'second', 'work', 'late']);
});

t.test('a read that fails fails alone', async (t) => {
  const { db } = await setup(t, 1);
  const divide = async (by: number): Promise<unknown> =>
    (await db.lookUp('select 12 / $1::int as n', [by], 'divide'))[0];
  t.strictSame(await divide(1), { n: 12 });
  const [two, none, four] = await Promise.allSettled([divide(2), divide(0), divide(4)]);
  t.match(two, { value: { n: 6 } });
  t.match(none, { reason: { kind: 'defect', message: /division by zero/ } });
  t.match(four, { value: { n: 3 } });
  t.strictSame(await divide(3), { n: 4 });
});

t.test('reads of a statement that cannot be prepared all say why', async (t) => {
  const { db } = await setup(t, 1);
  const read = (): Promise<unknown> => db.lookUp('select * from absent', [], 'absent');
  for (const result of await Promise.allSettled([read(), read()]))
    t.match(result, { reason: { kind: 'defect', message: /relation "absent" does not exist/ } });
});

t.test('a connection that is lost fails what is under way on it, and the next read gets another', async (t) => {
  const { gate, read } = await setup(t, 1);
  await gate.shut();
  const lost = Promise.allSettled([read(1), read(2), read(3)]);
  await gate.awaited(1);
  await gate.endReaders();
  for (const result of await lost) t.match(result, { reason: LOST });
  await gate.open();
  t.match(await read(4), { n: 4 });
});

t.test('without a database every read fails, and the next one tries anew', async (t) => {
  const { options } = await setup(t, 1);
  const away = new Postgres({ ...options, port: await freePort() }, silentLogger());
  t.teardown(() => away[Symbol.asyncDispose]());
  const read = (): Promise<unknown> => away.lookUp('select 1', [], 'one');
  for (const result of await Promise.allSettled([read(), read()])) t.match(result, { reason: LOST });
  await t.rejects(read(), LOST);
});
