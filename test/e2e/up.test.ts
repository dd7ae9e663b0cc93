import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import t from 'tap';
import { fetch } from 'undici';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, processesBelow, tempDir, up } from '../support/longshore.ts';

t.test('one up per directory; a second start continues where the first stopped', async (t) => {
  const dir = await tempDir(t);
  const base = String(await freePortBase());
  const first = await up(t, dir, ['--port-base', base]);
  t.equal(first.endpoints.installer, `http://127.0.0.1:${base}`);
  t.equal(first.endpoints.pluginHost, `http://127.0.0.1:${Number(base) + 4}`);
  t.equal(first.endpoints.pid, first.child.pid);
  for (const name of ['config.yaml', 'endpoints.json', 'token-key.pem'])
    t.equal((await stat(join(dir, name))).mode & 0o777, 0o600, `${name} is its owner's alone`);

  const second = await longshore(['up', '--data', dir]);
  t.equal(second.code, 1);
  t.match(second.stderr, `another 'longshore up' is running on ${dir}`);

  const api = new Api(first.endpoints.installer, await first.token('5'));
  const id = await api.upload(detailsOf('lightweight'), [{ name: 'any.bin', content: 'anything' }]);
  const config = await readFile(join(dir, 'config.yaml'), 'utf8');
  t.equal(await first.stop(), 0);
  t.same(processesBelow(dir), []);
  t.notOk(existsSync(join(dir, 'endpoints.json')), 'endpoints are of a running up');

  const again = await up(t, dir, ['--port-base', base]);
  t.equal(await readFile(join(dir, 'config.yaml'), 'utf8'), config, 'the configuration is written once');
  const watched = await longshore(['watch', id, '--data', dir, '--user', '5']);
  t.equal(watched.stdout, 'installed\n', watched.stderr);
  t.equal(await again.stop(), 0);
});

t.test('an up whose database ends says so, ends with exit code 1 and starts again', async (t) => {
  const dir = await tempDir(t);
  const base = String(await freePortBase());
  const app = await up(t, dir, ['--port-base', base]);
  const [pid] = (await readFile(join(dir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  const ended = once(app.child, 'close');
  process.kill(Number(pid), 'SIGKILL');
  t.same(await ended, [1, null]);
  t.same(processesBelow(dir), []);
  const again = await up(t, dir, ['--port-base', base]);
  t.equal(await again.stop(), 0);
});

t.test('an up whose configuration has a fault says which, and ends the database that it began to start', async (t) => {
  const dir = await tempDir(t);
  const base = String(await freePortBase());
  await writeFile(join(dir, 'config.yaml'), 'containerCore:\n  ports: { installer: none }\n', { mode: 0o600 });
  const failed = await longshore(['up', '--data', dir, '--port-base', base]);
  t.equal(failed.code, 3);
  t.match(failed.stderr, /config\.yaml:2:\d+: containerCore\.ports\.installer/);
  t.same(processesBelow(dir), []);
  await rm(join(dir, 'config.yaml'));
  const again = await up(t, dir, ['--port-base', base]);
  t.equal(await again.stop(), 0, 'and what it left half made does no harm');
});

t.test('health, readiness and metrics of a running up', async (t) => {
  const dir = await tempDir(t);
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  for (const server of [app.endpoints.installer, app.endpoints.pluginHost]) {
    const health = await fetch(`${server}/health`);
    t.equal(health.status, 200);
    t.match(await health.json(), { status: 'healthy' });
    t.equal((await fetch(`${server}/ready`)).status, 200);
  }
  const metrics = await (await fetch(`${app.endpoints.installer}/metrics`)).text();
  for (const name of ['longshore_lane_depth', 'longshore_lane_workers', 'longshore_http_requests_total'])
    t.match(metrics, name);
  t.same(await addressesOfClients(dir), [null], 'its own connections are by socket');
  const api = new Api(app.endpoints.installer, await app.token('5'));
  t.match(await api.json('/plugins'), [{ pluginName: 'genelist', dataTypes: [{ name: 'genelist', version: '1.0' }] }]);
  t.match(await api.json('/service-meta'), {
    configuration: { installTargets: [{ id: 'AlphaDB' }, { id: 'BetaDB' }] },
    features: { supportedArchiveTypes: ['.zip', '.tar.gz', '.tgz'] },
  });
});

/** From where the program is connected to its database server; null is the socket. */
async function addressesOfClients(dir: string): Promise<readonly (string | null)[]> {
  const [port, password] = await Promise.all(
    ['port', 'password'].map((name) => readFile(join(dir, `postgres.${name}`), 'utf8')),
  );
  const client = new pg.Client(`postgres://postgres:${password}@127.0.0.1:${port}/postgres`);
  await client.connect();
  const { rows } = await client.query(
    `select distinct client_addr as address from pg_stat_activity where application_name like 'longshore%'`,
  );
  await client.end();
  return rows.map(({ address }) => address);
}
