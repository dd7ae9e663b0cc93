// Connections and migrations on a real MariaDB.

import { readFile } from 'node:fs/promises';
import { setImmediate as immediate } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { MariaDb, type MariaDbOptions, withMariaDb } from '../../engine/adapters/mariadb/mariadb.ts';
import { mariaDbMigrationState, migrateMariaDb } from '../../engine/adapters/mariadb/mariadb-migrations.ts';
import { type Migration, mariaDbControlMigrations } from '../../engine/adapters/migrations/migrations.ts';
import { aborted } from '../../engine/runtime/failure.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { mariaDbServer, OTHER_HOST, openMariaDb } from './mariadb.ts';

const never = new AbortController().signal;
const server = await mariaDbServer(t);
const ca = await readFile(server.caFile, 'utf8');
const AWAY = { kind: 'transient', unreachable: true, message: /^database t_/ };

async function poolOn(t: Pick<Test, 'teardown'>, options: MariaDbOptions, clock = systemClock): Promise<MariaDb> {
  const db = new MariaDb(options, clock, silentLogger());
  t.teardown(() => db[Symbol.asyncDispose]());
  return db;
}

t.test('values come back as they were given', async (t) => {
  const { db } = await openMariaDb(t, server);
  await db.query(
    'create table v (big decimal(19), safe bigint, unsafe bigint, at datetime(6), word longtext) charset utf8mb4',
  );
  const at = new Date('1969-12-31T23:59:59.987Z');
  const word = 'λ 🧬 \\ \' " \n %s ? $1';
  await db.query('insert into v values (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)', [
    ...['9223372036854775807', 2 ** 53 - 1, '9007199254740993', at, word],
    ...[null, null, null, null, undefined],
  ]);
  t.strictSame(
    (await db.query('select * from v')).map((row) => ({ ...row })),
    [
      { big: '9223372036854775807', safe: 2 ** 53 - 1, unsafe: '9007199254740993', at, word },
      { big: null, safe: null, unsafe: null, at: null, word: null },
    ],
  );
});

t.test('what the server refuses is told apart by whether it may pass', async (t) => {
  const { db, options } = await openMariaDb(t, server);
  const once = (more: Partial<MariaDbOptions>) =>
    withMariaDb({ ...options, ...more }, (sql) => sql.query('select 1'), never);
  await t.rejects(once({ password: 'wrong' }), { ...AWAY, message: /^database t_\w+ at 127.0.0.1:\d+: Access denied/ });
  await t.rejects(once({ database: 'not_there' }), { ...AWAY, message: /^database not_there at / });
  await t.rejects(db.query('select nonsense'), {
    kind: 'defect',
    message: /Unknown column 'nonsense'/,
    unreachable: false,
  });
  await db.query('create table n (a int not null, b varchar(2))');
  await t.rejects(db.query('insert into n values (?, ?)', [null, 'x']), { kind: 'defect', message: /'a'/ });
  await t.rejects(
    db.query('insert into n values (1, ?)', ['abc']),
    { kind: 'defect', message: /too long/ },
    'not cut off',
  );
  await server.query('set global max_statement_time = 0');
  await t.rejects(
    db.transaction(async (sql) => {
      await sql.query('set session max_statement_time = 0.2');
      await sql.query('select sleep(30)');
    }, never),
    { kind: 'transient', unreachable: false, message: /max_statement_time/ },
  );
});

t.test('a transaction that fails, or is aborted, changes nothing, and its connection goes on', async (t) => {
  const { options } = await openMariaDb(t, server);
  const db = await poolOn(t, { ...options, poolSize: 1 });
  await db.query('create table a (n int primary key)');
  const stop = new AbortController();
  const add = (n: number, then: () => void, signal = never) =>
    db.transaction(async (sql) => {
      await sql.query('insert into a values (?)', [n]);
      then();
    }, signal);
  const id = async () => (await db.query('select connection_id() as id'))[0]?.id;
  const before = await id();
  await t.rejects(
    add(1, () => {
      throw aborted('no');
    }),
    { kind: 'aborted', message: 'no' },
  );
  await t.rejects(
    add(2, () => stop.abort(aborted('stopped')), stop.signal),
    { kind: 'aborted', message: 'stopped' },
  );
  await add(3, () => undefined);
  await t.rejects(
    add(3, () => undefined),
    { kind: 'defect', message: /Duplicate entry/ },
  );
  t.strictSame(
    (await db.query('select n from a')).map(({ n }) => n),
    [3],
  );
  t.equal(await id(), before);
});

t.test('a transaction that lost a deadlock is run again', async (t) => {
  const { db } = await openMariaDb(t, server);
  await db.query('create table l (n int primary key, times int not null)');
  await db.query('insert into l values (1, 0), (2, 0)');
  const bothHold = Promise.withResolvers<void>();
  let holding = 0;
  let runs = 0;
  const inOrder = (...rows: readonly number[]) =>
    db.transaction(async (sql) => {
      runs++;
      for (const row of rows) {
        await sql.query('update l set times = times + 1 where n = ?', [row]);
        if (++holding === 2) bothHold.resolve();
        await bothHold.promise;
      }
    }, never);
  await Promise.all([inOrder(1, 2), inOrder(2, 1)]);
  t.equal(runs, 3);
  t.strictSame(
    (await db.query('select times from l')).map(({ times }) => times),
    [2, 2],
  );
});

t.test('a pool has no more connections than allowed, and closes those that are idle', async (t) => {
  const { db, options } = await openMariaDb(t, server);
  const count = async () =>
    Number(
      (await server.query('select count(*) as n from information_schema.processlist where user = ?', [options.user]))[0]
        ?.n,
    );
  const ids = await Promise.all(
    Array.from({ length: 20 }, () => db.query('select connection_id() as id, sleep(0.01) as slept')),
  );
  t.equal(new Set(ids.map(([row]) => row?.id)).size, options.poolSize);
  while ((await count()) > 0);
  t.equal((await db.query('select 1 as one'))[0]?.one, 1);
});

t.test('who waits too long for a connection is told so, and the next one gets it', async (t) => {
  const { options } = await openMariaDb(t, server);
  const clock = new VirtualClock();
  const db = await poolOn(t, { ...options, poolSize: 1 }, clock);
  await db.transaction(async () => {
    const waiting = db.query('select 1');
    const late = t.rejects(waiting, { ...AWAY, message: /no connection within 10000 ms$/ });
    await db.probe(never);
    t.pass('the server responds, however busy the pool is');
    await clock.advance(10_000);
    await late;
  }, never);
  for (let i = 0; i < 3; i++) t.equal((await db.query('select 1 as one'))[0]?.one, 1);
});

t.test('a server that is away, hangs or comes back', async (t) => {
  const { db, options } = await openMariaDb(t, server);
  await db.query('select 1');
  await db.probe(never);
  await server.stop();
  await t.rejects(db.query('select 1'), AWAY);
  await t.rejects(db.probe(never), AWAY);
  await server.start();
  await db.probe(never);
  t.equal((await db.query('select 1 as one'))[0]?.one, 1);

  server.pause();
  for (const ask of [
    (signal: AbortSignal) => db.probe(signal),
    (signal: AbortSignal) => withMariaDb(options, async (sql) => void (await sql.query('select 1')), signal),
  ]) {
    const stop = new AbortController();
    const given = t.rejects(ask(stop.signal), { kind: 'aborted', message: 'given up' });
    setImmediate(() => stop.abort(aborted('given up')));
    await given;
  }
  server.continue();
  await db.probe(never);
});

t.test(
  'a server that says nothing for too long is given up, and the next statement gets another connection',
  async (t) => {
    const { db: own, options } = await openMariaDb(t, server);
    await own.query('create table s (n int primary key)');
    const clock = new VirtualClock();
    const db = await poolOn(t, { ...options, poolSize: 1 }, clock);
    const known = 'select n from s';
    const add = 'insert into s values (1)';
    const uses: Readonly<Record<string, (hang: () => void) => Promise<unknown>>> = {
      'a statement that the connection knows': async (hang) => {
        await db.query(known);
        hang();
        await db.query(known);
      },
      'a new statement': async (hang) => {
        hang();
        await db.query('select n + 1 from s');
      },
      'a statement of a transaction': (hang) =>
        db.transaction(async (sql) => {
          hang();
          await sql.query(add);
        }, never),
      'a commit': (hang) =>
        db.transaction(async (sql) => {
          await sql.query(add);
          hang();
        }, never),
    };
    for (const [name, use] of Object.entries(uses)) {
      const hung = Promise.withResolvers<void>();
      const given = t.rejects(
        use(() => {
          server.pause();
          hung.resolve();
        }),
        { ...AWAY, message: /no answer within 65000 ms$/ },
        name,
      );
      await hung.promise;
      while (clock.pending === 0) await immediate();
      await clock.advance(65_000);
      await given;
      server.continue();
      t.equal((await db.query('select 1 as one'))[0]?.one, 1);
    }
  },
);

t.test('a connection is encrypted, and the certificate verified', async (t) => {
  const { options } = await openMariaDb(t, server);
  const cipher = async (more: Partial<MariaDbOptions>) => {
    const [row] = await withMariaDb(
      { ...options, ...more },
      (sql) => sql.query("show status like 'Ssl_cipher'"),
      never,
    );
    return row?.Value;
  };
  t.equal(await cipher({}), '');
  for (const host of ['localhost', '127.0.0.1'])
    t.match(await cipher({ host, tls: { ca, rejectUnauthorized: true } }), /TLS|AES/);
  t.match(await cipher({ host: OTHER_HOST, tls: { rejectUnauthorized: false } }), /TLS|AES/);
  await t.rejects(cipher({ tls: { rejectUnauthorized: true } }), { kind: 'transient', message: /certificate/ });
  await t.rejects(cipher({ host: OTHER_HOST, tls: { ca, rejectUnauthorized: true } }), {
    kind: 'transient',
    message: /does not match certificate/,
  });
  const pool = await poolOn(t, { ...options, tls: { ca, rejectUnauthorized: true } });
  t.match((await pool.query("show status like 'Ssl_cipher'"))[0]?.Value, /TLS|AES/);
});

const FIRST: Migration = { number: 1, name: 'first', sql: 'create table if not exists a (n int);\n-- Why; not\n' };
const second = (sql: string): Migration => ({
  number: 2,
  name: 'second',
  sql: `create table if not exists b (n int);\n${sql}`,
});

t.test('migrations are applied once, in order, by one of several processes', async (t) => {
  const { db, options } = await openMariaDb(t, server);
  const schema = `${options.database}_new`;
  const migrations = [FIRST, second('insert into b values (1);\n')];
  const told: number[] = [];
  const all = await Promise.all(
    Array.from({ length: 3 }, () => migrateMariaDb({ ...options, schema }, migrations, (n) => told.push(n), never)),
  );
  t.strictSame(all.flat(), [1, 2]);
  t.strictSame(told, [1, 2, 1, 2, 1, 2]);
  t.equal((await db.query(`select * from ${schema}.b`)).length, 1);
  const state = (known: readonly Migration[]) => mariaDbMigrationState(db, schema, known);
  t.strictSame(await state(migrations), { missing: [], changed: [], unknown: [] });
  t.strictSame(await state([FIRST]), { missing: [], changed: [], unknown: [2] });
  t.strictSame(await state([FIRST, second('select 1;')]), { missing: [], changed: [2], unknown: [] });
  t.strictSame(await mariaDbMigrationState(db, 'not_there', [FIRST]), { missing: [1], changed: [], unknown: [] });
  const again = (known: readonly Migration[]) => migrateMariaDb({ ...options, schema }, known, () => {}, never);
  await t.rejects(again([FIRST, second('select 1;')]), { kind: 'rejected', message: /unreleased version.*'second'/ });
  await t.rejects(again([FIRST]), {
    kind: 'rejected',
    message: `schema ${schema} has migration 2; this program knows 1`,
  });
});

t.test('a migration may take any time, also of a large table', async (t) => {
  const { db, options } = await openMariaDb(t, server);
  const sql = 'create table if not exists limits as select @@session.max_statement_time as statement;\n';
  await migrateMariaDb(options, [{ number: 1, name: 'limits', sql }], () => undefined, never);
  t.equal(Number((await db.query('select statement from limits'))[0]?.statement), 0);
});

t.test('a migration that failed in the middle is applied again from its beginning', async (t) => {
  const { db, options } = await openMariaDb(t, server);
  const apply = (...migrations: readonly Migration[]) => migrateMariaDb(options, migrations, () => {}, never);
  await t.rejects(apply(FIRST, second('insert into b values (nonsense);\n')), { kind: 'defect', message: /nonsense/ });
  t.strictSame(await apply(FIRST, second('insert into b values (1);\n')), [2]);
  t.equal((await db.query('select * from b')).length, 1);
});

t.test('the control schema takes being made again', async (t) => {
  const { db, options } = await openMariaDb(t, server);
  const apply = async () => migrateMariaDb(options, await mariaDbControlMigrations(), () => {}, never);
  const applied = await apply();
  await db.query('delete from migration');
  t.strictSame(await apply(), applied);
});
