import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { createLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { linesOf } from '../../../support/log-lines.ts';
import { freePort } from '../../../support/ports.ts';

async function setup(t: Test, below = '') {
  const parent = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  await chmod(parent, 0o755);
  const dir = join(parent, below);
  await mkdir(dir, { recursive: true });
  const logFile = join(dir, 'log');
  const log = createLogger({ level: 'info', to: { file: logFile } });
  const started: EmbeddedPostgres[] = [];
  t.teardown(async () => {
    await started.at(-1)?.stop();
    await rm(parent, { recursive: true });
  });
  const start = async (): Promise<EmbeddedPostgres> => {
    const options = { dir, port: await freePort(), password: 'longshore-tests', unsafeFast: true };
    const server = await startEmbeddedPostgres(options, systemClock, log, new AbortController().signal);
    started.push(server);
    return server;
  };
  return { dir, start, lines: () => linesOf(logFile) };
}

/** The address that the server sees; null is a socket of the file system. */
async function clientOf({ port, user, password }: EmbeddedPostgres, host: string): Promise<string | null> {
  const client = new pg.Client({ host, port, user, password, database: 'postgres' });
  await client.connect();
  const { rows } = await client.query('select host(inet_client_addr()) as address');
  await client.end();
  return rows[0].address;
}

t.test('a server has a socket in a folder of its own, and what a killed one left there is removed', async (t) => {
  const { dir, start } = await setup(t);
  const folder = join(dir, 'postgres.socket');
  await mkdir(folder);
  await writeFile(join(folder, '.s.PGSQL.1.lock'), '1\n');
  const server = await start();
  t.equal(server.socketDir, folder);
  t.equal((await stat(folder)).mode & 0o777, 0o700);
  await t.rejects(stat(join(folder, '.s.PGSQL.1.lock')), { code: 'ENOENT' });
  t.equal(await clientOf(server, folder), null);
  t.equal(await clientOf(server, '127.0.0.1'), '127.0.0.1', 'scripts and psql reach it over TCP');
});

t.test('a server whose socket would have too long a path is reached over TCP, and the log says so', async (t) => {
  const { start, lines } = await setup(t, 'd'.repeat(90));
  const server = await start();
  t.equal(server.socketDir, undefined);
  t.equal(await clientOf(server, '127.0.0.1'), '127.0.0.1');
  const said = lines().filter(
    ({ msg }) => msg === 'the path is too long for a socket of PostgreSQL; it is reached over TCP',
  );
  t.match(said, [{ level: 'info' }]);
});
