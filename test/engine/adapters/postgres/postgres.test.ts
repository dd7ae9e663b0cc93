import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t from 'tap';
import { Postgres, type PostgresOptions, type Sql } from '../../../../engine/adapters/postgres/postgres.ts';
import { withConnection } from '../../../../engine/adapters/postgres/single-connection.ts';
import { aborted } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { testDatabase } from '../../../support/database.ts';
import { postgresProxy } from '../../../support/postgres-proxy.ts';

const never = new AbortController().signal;
const LOST = { kind: 'transient', unreachable: true, message: /^database t_/ };

async function setup(t: Parameters<typeof testDatabase>[0], more: Partial<PostgresOptions> = {}) {
  const at = await testDatabase(t);
  const proxy = await postgresProxy(t, at);
  const options = { ...at, schema: 'public', poolSize: 1, idleTimeoutMs: 10_000, applicationName: 'test', ...more };
  const db = new Postgres({ ...options, port: proxy.port }, silentLogger());
  t.teardown(() => db[Symbol.asyncDispose]());
  await db.query('create table kept (n int primary key)');
  return { db, proxy };
}

const STATEMENTS = ['begin', 'insert into kept values ($1)', 'select count(*) from kept', 'commit'];

t.test('a connection lost at any statement fails that transaction alone, and the next one gets another', async (t) => {
  const { db, proxy } = await setup(t);
  let n = 0;
  const add = (): Promise<number> =>
    db.transaction(async (sql) => {
      await sql.query('insert into kept values ($1)', [++n]);
      await sql.query('select count(*) from kept');
      return n;
    }, never);
  proxy.watch();
  await add();
  t.strictSame(proxy.statements, STATEMENTS);
  const kept = [n];
  for (let at = 1; at <= STATEMENTS.length; at++)
    for (const when of ['before', 'after'] as const) {
      proxy.cut({ at, when, ends: 'connection' });
      await t.rejects(add(), LOST, `${when} ${STATEMENTS[at - 1]}`);
      // The server had committed; only the answer was lost.
      if (at === STATEMENTS.length && when === 'after') kept.push(n);
      kept.push(await add());
    }
  const rows = await db.query<{ n: number }>('select n from kept order by n');
  t.strictSame(
    rows.map((row) => row.n),
    kept,
  );
});

t.test('a connection lost during a query or a stream fails that alone', async (t) => {
  const { db, proxy } = await setup(t);
  await db.query('insert into kept select generate_series(1, 10)');
  proxy.cut({ at: 1, when: 'after', ends: 'connection' });
  await t.rejects(db.query('select n from kept'), LOST);
  const read = async (): Promise<number[]> => {
    const rows = [];
    for await (const { n } of db.stream<{ n: number }>('select n from kept order by n', [], 4, never)) rows.push(n);
    return rows;
  };
  proxy.watch();
  t.equal((await read()).length, 10);
  for (let at = 1; at < proxy.statements.length; at++) {
    proxy.cut({ at, when: 'before', ends: 'connection' });
    await t.rejects(read(), LOST, String(at));
  }
  proxy.watch();
  t.equal((await read()).length, 10);
});

t.test(
  'a server that says nothing for too long is given up, once, and the next statement gets another connection',
  async (t) => {
    const { db, proxy } = await setup(t, { answerMs: 2_000 });
    await db.query('insert into kept values (1), (2)');
    const uses: readonly [number, () => Promise<unknown>][] = [
      [1, () => db.query('select n from kept')],
      [2, () => db.transaction((sql) => sql.query('select n from kept'), never)],
      [3, () => db.transaction((sql) => sql.query('select n from kept'), never)],
      [3, () => Array.fromAsync(db.stream('select n from kept', [], 1, never))],
    ];
    for (const [at, use] of uses) {
      proxy.cut({ at, when: 'before', ends: 'answers' });
      await t.rejects(use(), LOST, String(at));
      t.equal(proxy.statements.length, at, 'nothing more was sent');
      proxy.watch();
      t.strictSame(await db.query('select count(*) from kept'), [{ count: 2 }]);
    }
  },
);

t.test('the statements of a long transaction may take any time, until the signal aborts', async (t) => {
  const { db, proxy } = await setup(t, { answerMs: 2_000 });
  const limitOf = (sql: Sql) => sql.query("select current_setting('statement_timeout') as limit");
  const took = await db.transaction(
    async (sql) => {
      await sql.query('select pg_sleep(3)');
      return limitOf(sql);
    },
    never,
    { isLong: true },
  );
  t.strictSame(took, [{ limit: '0' }]);
  t.strictSame(await limitOf(db), [{ limit: '1min' }]);
  const stop = new AbortController();
  proxy.cut({ at: 3, when: 'before', ends: 'answers' });
  const given = t.rejects(
    db.transaction((sql) => sql.query('select 1'), stop.signal, { isLong: true }),
    { kind: 'aborted', message: 'stopped' },
  );
  while (!proxy.struck) await db.probe(never);
  stop.abort(aborted('stopped'));
  await given;
  t.strictSame(await db.query('select 1 as one'), [{ one: 1 }]);
});

const signal = new AbortController().signal;
const database = await testDatabase(t);
const options: PostgresOptions = {
  ...database,
  schema: 'public',
  poolSize: 1,
  idleTimeoutMs: 1_000,
  applicationName: 'visit-test',
};
const connections = `select count(*)::integer as count from pg_stat_activity
  where application_name = 'visit-test' and pid <> pg_backend_pid()`;

t.test('works on one connection and leaves none', async (t) => {
  const count = () => withConnection(options, async (sql) => (await sql.query(connections))[0], signal);
  t.strictSame(await count(), { count: 0 });
  t.strictSame(await count(), { count: 0 });
  t.strictSame(await withConnection(options, (sql) => sql.query('select $1::integer as a', [5]), signal), [{ a: 5 }]);
});

t.test('fails as a pool does, and leaves no connection then either', async (t) => {
  await t.rejects(
    withConnection(options, (sql) => sql.query('select nonsense'), signal),
    { kind: 'defect', message: /column "nonsense" does not exist/ },
  );
  const missing = { ...options, database: 'not_there' };
  await t.rejects(
    withConnection(missing, (sql) => sql.query('select 1'), signal),
    {
      kind: 'transient',
      unreachable: true,
      message: /^database not_there at 127\.0\.0\.1:\d+: database "not_there" does not exist$/,
    },
  );
  await t.rejects(
    withConnection(options, () => Promise.reject(new Error('the work failed')), signal),
    { message: /the work failed$/ },
  );
});

t.test('a server that says nothing is given up at once when the signal aborts', async (t) => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  for (const tls of [{}, { tls: { rejectUnauthorized: true } }]) {
    const stop = new AbortController();
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const silent = { ...options, port: (server.address() as AddressInfo).port, ...tls };
    const visit = withConnection(silent, (sql) => sql.query('select 1'), stop.signal);
    const given = t.rejects(visit, { kind: 'aborted', message: 'stopped by SIGTERM' });
    const [socket] = await accepted;
    socket.on('error', () => undefined).resume();
    const closed = once(socket, 'close');
    stop.abort(aborted('stopped by SIGTERM'));
    await given;
    await closed;
  }
  await t.rejects(
    withConnection(options, async () => undefined, AbortSignal.abort(aborted('before'))),
    {
      kind: 'aborted',
      message: 'before',
    },
  );
});

t.test('a probe tells a busy pool from a database that is away', async (t) => {
  const { db, proxy } = await setup(t);
  await db
    .transaction(async () => {
      const waiting = db.query('select 1');
      await db.probe(never);
      t.pass('the only connection of the pool is taken, and others wait for it');
      proxy.cut({ at: 1, when: 'before', ends: 'process' });
      await t.rejects(db.probe(never), LOST, 'cut off at its statement');
      await t.rejects(db.probe(never), LOST, 'not connected');
      await waiting.catch(() => undefined);
    }, never)
    .catch(() => undefined);
  proxy.watch();
  await db.probe(never);
});

t.test('a server that has no connection left responds all the same', async (t) => {
  const admin = new Postgres(options, silentLogger());
  t.teardown(() => admin[Symbol.asyncDispose]());
  const user = `${database.database}_user`;
  await admin.query(`create role ${user} login password 'x' connection limit 0`);
  t.teardown(() => withConnection(options, (sql) => sql.query(`drop role ${user}`), signal));
  const full = new Postgres({ ...options, user, password: 'x' }, silentLogger());
  t.teardown(() => full[Symbol.asyncDispose]());
  await t.rejects(full.query('select 1'), /too many connections/);
  await full.probe(signal);
});

t.test('while a server does not accept connections, its answers to others prove that it responds', async (t) => {
  const upstream = await testDatabase(t);
  let isHung = false;
  const relay = createServer((socket) => {
    if (isHung) return void socket.on('error', () => undefined).resume();
    const onward = connect(upstream.port, upstream.host);
    for (const one of [socket, onward]) one.on('error', () => undefined);
    socket.pipe(onward).pipe(socket);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.teardown(() => relay.close());
  const { port } = relay.address() as AddressInfo;
  const db = new Postgres({ ...options, ...upstream, port, idleTimeoutMs: 60_000 }, silentLogger());
  t.teardown(() => db[Symbol.asyncDispose]());
  await db.query('select 1');
  isHung = true;
  const probes = [db.probe(never), db.probe(never)];
  await db.query('select 2');
  await Promise.all(probes);
  const stop = new AbortController();
  const probe = t.rejects(db.probe(stop.signal), { kind: 'aborted', message: 'late' });
  stop.abort(aborted('late'));
  await probe;
});
