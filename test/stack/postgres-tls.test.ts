// Databases of our own and of install targets over TLS.

import { chown, copyFile, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import t from 'tap';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePort } from '../support/ports.ts';
import { makeCertificate } from './certificate.ts';

const signal = new AbortController().signal;
const dir = await mkdtemp(join(tmpdir(), 'longshore-postgres-'));
t.teardown(() => rm(dir, { recursive: true, force: true }));
const password = 'over-tls';
const port = await freePort();
const settings = { dir, port, password, unsafeFast: true };
const start = () => startEmbeddedPostgres(settings, systemClock, silentLogger(), signal);
let server = await start();
t.teardown(() => server.stop());
const ca = await readFile(await putCertificate(join(dir, 'postgres')), 'utf8');
await restart('alter system set ssl = on');

/** The server takes the files from its own directory, where its own user owns them. */
async function putCertificate(data: string): Promise<string> {
  const { caFile, certFile, keyFile } = makeCertificate(dir);
  const { uid, gid } = await stat(data);
  for (const [from, name] of [
    [certFile, 'server.crt'],
    [keyFile, 'server.key'],
  ] as const) {
    await copyFile(from, join(data, name));
    await chown(join(data, name), uid, gid);
  }
  return caFile;
}

async function restart(after: string): Promise<void> {
  const admin = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', password, database: 'postgres' });
  await admin.connect();
  await admin.query(after);
  await admin.end();
  await server.stop();
  server = await start();
}

async function encrypted(tls: PostgresOptions['tls']): Promise<boolean | undefined> {
  await using db = new Postgres(
    {
      ...{ host: 'localhost', port, user: 'postgres', password, database: 'postgres', schema: 'public', poolSize: 1 },
      ...{ idleTimeoutMs: 1_000, applicationName: 'longshore-test', ...(tls ? { tls } : {}) },
    },
    silentLogger(),
  );
  const [row] = await db.query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
  return row?.ssl;
}

t.test('a connection is encrypted, and the certificate verified', async (t) => {
  t.equal(await encrypted({ rejectUnauthorized: true, ca }), true);
  await t.rejects(encrypted({ rejectUnauthorized: true }), { kind: 'transient', message: /certificate/ });
});

t.test('any certificate is taken where the configuration says so', async (t) => {
  t.equal(await encrypted({ rejectUnauthorized: false }), true);
});

t.test('without TLS a connection is plain', async (t) => {
  t.equal(await encrypted(undefined), false);
});

t.test('a server that has no TLS is refused', async (t) => {
  await restart('alter system set ssl = off');
  await t.rejects(encrypted({ rejectUnauthorized: false }), { message: /does not support SSL/ });
});
