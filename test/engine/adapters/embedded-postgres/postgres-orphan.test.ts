import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { freePort } from '../../../support/ports.ts';

/** Runs for hours without a moment in which it would notice the end of the first process. */
const BUSY = 'select count(*) from generate_series(1, 1e12)';

async function setup(t: Test) {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  await chmod(dir, 0o755);
  const started: EmbeddedPostgres[] = [];
  t.teardown(async () => {
    await started.at(-1)?.stop();
    await rm(dir, { recursive: true });
  });
  const start = async (begun?: () => void): Promise<EmbeddedPostgres> => {
    const options = { dir, port: await freePort(), password: 'longshore-tests', unsafeFast: true };
    const server = await startEmbeddedPostgres(
      { ...options, ...(begun ? { begun } : {}) },
      systemClock,
      silentLogger(),
      new AbortController().signal,
    );
    started.push(server);
    return server;
  };
  const connect = async ({ port, user, password }: EmbeddedPostgres): Promise<pg.Client> => {
    const client = new pg.Client({ host: '127.0.0.1', port, user, password, database: 'postgres' });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  return { data: join(dir, 'postgres'), start, connect };
}

/** Not by `once`, which an error of the connection would reject. */
const endOf = (client: pg.Client): Promise<void> => new Promise((resolve) => client.once('end', resolve));

const firstOf = async (data: string): Promise<number> =>
  Number((await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')[0]);

t.test('a server that was left running is stopped, and another starts in its place', async (t) => {
  const { data, start, connect } = await setup(t);
  const first = await start();
  const client = await connect(first);
  await client.query('create table kept (n integer)');
  const ended = endOf(client);
  const left = await firstOf(data);
  let begun = 0;
  const second = await start(() => begun++);
  await Promise.all([ended, t.rejects(first.ended, { message: /embedded PostgreSQL ended/ })]);
  t.not(await firstOf(data), left);
  t.ok(begun >= 1, 'others need not wait for that');
  const again = await connect(second);
  t.same((await again.query('select * from kept')).rows, []);
  await again.end();
});

t.test('what is left of a killed server is stopped, and nothing else that works in its directory', async (t) => {
  const { data, start, connect } = await setup(t);
  const client = await connect(await start());
  const ended = endOf(client);
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  client.query(BUSY).catch(() => undefined);
  const shell = spawn('/bin/sleep', ['600'], { cwd: data, stdio: 'ignore' });
  t.teardown(() => shell.kill());
  // The statement runs once another session sees it there.
  const watcher = await connect({
    port: client.port,
    user: 'postgres',
    password: 'longshore-tests',
  } as EmbeddedPostgres);
  for (let seen = false; !seen; ) {
    const active = await watcher.query("select from pg_stat_activity where pid = $1 and state = 'active'", [
      rows[0]?.pid,
    ]);
    seen = active.rowCount === 1;
  }
  process.kill(await firstOf(data), 'SIGKILL');
  const again = await connect(await start());
  await ended;
  t.same((await again.query('select 1 as n')).rows, [{ n: 1 }]);
  t.same([shell.exitCode, shell.signalCode], [null, null]);
  await again.end();
});

t.test('a server starts although another program has the number of the one that was killed', async (t) => {
  const { data, start, connect } = await setup(t);
  const lock = join(data, 'postmaster.pid');
  const server = await start();
  const [, ...lines] = (await readFile(lock, 'utf8')).split('\n');
  await server.stop();
  // PostgreSQL asks only for programs of its own account.
  const { uid, gid } = await stat(data);
  const other = spawn('/bin/sleep', ['600'], { uid, gid, stdio: 'ignore' });
  t.teardown(() => other.kill());
  await writeFile(lock, [other.pid, ...lines].join('\n'), { mode: 0o600 });
  const client = await connect(await start());
  t.same((await client.query('select 1 as n')).rows, [{ n: 1 }]);
  t.same([other.exitCode, other.signalCode], [null, null]);
  await client.end();
});
