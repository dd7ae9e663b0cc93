import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import t from 'tap';
import type { PostgresOptions } from '../../../../engine/adapters/postgres/postgres.ts';
import { withConnection } from '../../../../engine/adapters/postgres/with-connection.ts';
import { aborted } from '../../../../engine/runtime/failure.ts';
import { testDatabase } from '../../../support/database.ts';

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
