// A plugin whose calls never return, in the real program: `serve` with its lanes, threads and job table, a plugin
// server that takes calls on and says nothing, and two plugins that work, one of them in the plugin host with a script.
// The others' datasets do not wait for the hung ones, which are given up after three attempts until somebody retries them
// (docs/design/decisions.md#from-a-change-to-a-job).

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { stringify } from 'yaml';
import type { UserId } from '../../engine/model/ids.ts';
import type { DatasetType } from '../../engine/model/metadata.ts';
import { newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import { Api } from '../support/api.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { ImportServer } from '../support/import-server.ts';
import { ImportsHistory } from '../support/imports-history.ts';
import { freePortBase, longshore, ROOT, running, tempDir } from '../support/longshore.ts';
import { seeding } from '../support/uploaded-datasets.ts';

const OWNER = '9007199254740993' as UserId;
const ADMIN_TOKEN = 'a'.repeat(40);
/** Datasets of each plugin: more hung ones than workers, which they would all take. */
const COUNTS = { stuck: 30, reads: 160, genes: 20 };
const WORKERS = 20;
/** `maxDuration` of the hung plugin: longer than the test, or over soon. */
const LONG = '1h';
const SHORT = '1s';
/** Of a call with the short one: with the time for the way. */
const DEADLINE_MS = 1_050;
const RETRIES_AT_ONCE = 8;
const SCRIPTS = join(ROOT, 'test', 'fixtures', 'scripts', 'plugin');

const typesOf = (plugin: keyof typeof COUNTS): readonly DatasetType[] =>
  Array.from({ length: COUNTS[plugin] }, () => ({ name: plugin, version: '1.0' }));

async function configure(t: Test, db: TestDatabase, servers: { readonly stuck: number; readonly reads: number }) {
  const dir = await tempDir(t);
  const base = await freePortBase();
  const keys = await newKeyPair();
  await writeFile(join(dir, 'key.pem'), keys.privateKeyPem, { mode: 0o600 });
  await writeFile(join(dir, 'key.pub.pem'), keys.publicKeyPem);
  await mkdir(join(dir, 'installed'));
  const plugin = (name: string, port: number): object => ({
    server: { host: '127.0.0.1', port },
    installRoot: encodeURI(join(dir, 'installed')),
    dataTypes: [{ name, version: '1.0', category: name }],
  });
  const file = join(dir, 'longshore.yaml');
  await writeFile(
    file,
    stringify({
      containerCore: {
        // Calls that hang do not end by themselves.
        shutdownGrace: '1s',
        authentication: {
          adminToken: ADMIN_TOKEN,
          oauth: { issuer: 'tests', publicKeyFile: 'key.pub.pem', privateKeyFile: 'key.pem' },
        },
        ports: { installer: base, pluginHost: base + 1 },
      },
      pluginHost: { inProcess: ['genes'] },
      installer: {
        cacheDb: {
          server: { host: db.host, port: db.port },
          username: db.user,
          password: db.password,
          name: db.database,
        },
        objectStore: { driver: 'directory', path: 'store' },
        logBroker: { driver: 'postgres' },
        queueBroker: { driver: 'postgres' },
        siteBuild: 'build-1',
        lanes: { import: { workerCount: WORKERS, inMemoryQueueSize: 20, retry: { base: '10ms', max: '20ms' } } },
        plugins: {
          stuck: {
            ...plugin('stuck', servers.stuck),
            scripts: { dataCleaning: { maxDuration: LONG } },
            timeouts: { reply: `${DEADLINE_MS - 1_000}ms` },
          },
          reads: plugin('reads', servers.reads),
          genes: {
            ...plugin('genes', base + 1),
            scripts: { dataCleaning: { pathOverride: encodeURI(join(SCRIPTS, 'import.sh')) } },
          },
        },
        installTargets: [{ enabled: false }],
      },
    }),
    { mode: 0o600 },
  );
  const hangFor = async (from: string, to: string): Promise<void> =>
    writeFile(file, (await readFile(file, 'utf8')).replace(`maxDuration: ${from}\n`, `maxDuration: ${to}\n`));
  return { file, hangFor, store: join(dir, 'store'), url: `http://127.0.0.1:${base}` };
}

interface ListedJob {
  readonly id: number;
  readonly datasetId: string;
  readonly attempts: number;
  readonly message: string;
}

/** Puts all dead imports back, one by the command and the others by the API; how many. */
async function retryAll(url: string): Promise<number> {
  const headers = { 'admin-token': ADMIN_TOKEN };
  const report = await fetch(`${url}/admin/reports/jobs?lane=import&state=dead&limit=1000`, { headers });
  const [first, ...others] = ((await report.json()) as { results: readonly ListedJob[] }).results;
  if (!first) throw new Error('no job is dead');
  const said = await longshore(['retry', String(first.id), '--server', url, '--admin-token', ADMIN_TOKEN]);
  if (said.code !== 0) throw new Error(said.stderr);
  const queue = others.values();
  const worker = async (): Promise<void> => {
    for (const { id } of queue) {
      const answer = await fetch(`${url}/admin/rpc/jobs/${id}/retry`, { method: 'POST', headers });
      if (answer.status !== 202) throw new Error(`retry of ${id}: ${answer.status} ${await answer.text()}`);
      await answer.body?.cancel();
    }
  };
  await Promise.all(Array.from({ length: RETRIES_AT_ONCE }, worker));
  return others.length + 1;
}

t.test('a plugin that never answers keeps nobody else waiting, and its datasets come back', async (t) => {
  const at = await testDatabase(t);
  const plugin = await ImportServer.open(t, { answers: false });
  const sound = await ImportServer.open(t, { answers: true });
  const { file, hangFor, store, url } = await configure(t, at, { stuck: plugin.port, reads: sound.port });
  t.match(await longshore(['migrate', '--config', file]), { code: 0, stderr: '' });
  await using seeds = await seeding(at, store);
  const hung = await seeds.add(typesOf('stuck'), OWNER);
  const others = await seeds.add([...typesOf('reads'), ...typesOf('genes')], OWNER);
  await seeds.enqueueImports(hung, OWNER);
  await seeds.enqueueImports(others, OWNER);
  const history = await ImportsHistory.open(t, at);

  const waiting = await running(t, ['serve', '--config', file]);
  // Resolves although none of the hung calls ends.
  await history.each(others, 'gone');
  t.equal(history.entriesOf(others, 'import complete').length, others.length);
  const claims = history.entriesOf(hung, 'claimed').filter(({ othersWait = 0 }) => othersWait > 0);
  const most = Math.max(...claims.map(({ held = 0 }) => held));
  t.equal(most, WORKERS / 2, 'the hung ones have half of the workers at most while others wait');

  t.equal(await waiting.stop(), 0);

  await hangFor(LONG, SHORT);
  const givingUp = await running(t, ['serve', '--config', file]);
  await history.each(hung, 'dead');
  t.equal(await givingUp.stop(), 0);
  await hangFor(SHORT, LONG);
  const service = await running(t, ['serve', '--config', file]);
  const saying = (at: string): string => `plugin server stuck at ${at}: timeout, no response within ${DEADLINE_MS} ms`;
  // Operators are told the address, users are not.
  const message = saying(`http://127.0.0.1:${plugin.port}/import`);
  const told = saying('an internal address');
  const given = (sql: string): Promise<readonly object[]> => seeds.db.query(sql);
  const JOBS = `select type, state, attempts, failure, message, count(*) from job where lane = 'import' group by 1, 2, 3, 4, 5`;
  t.strictSame(await given(JOBS), [
    { type: 'stuck:1.0', state: 'dead', attempts: 3, failure: 'transient', message, count: COUNTS.stuck },
  ]);
  const IMPORTS = `select type_name as type, import_status as status, import_messages as messages, count(*)
    from dataset group by 1, 2, 3 order by 1`;
  const complete = [
    { type: 'genes', status: 'complete', messages: ['one line was odd', 'für alle λ'], count: COUNTS.genes },
    { type: 'reads', status: 'complete', messages: [], count: COUNTS.reads },
  ];
  t.strictSame(await given(IMPORTS), [
    ...complete,
    { type: 'stuck', status: 'failed', messages: [told], count: COUNTS.stuck },
  ]);
  const token = (await longshore(['token', '--config', file, '--user', OWNER])).stdout.trim();
  t.match(await new Api(url, token).json(`/datasets/${hung[0]}`), {
    status: { import: { status: 'failed', messages: [told] } },
  });

  plugin.answers = true;
  plugin.calls.clear();
  const before = history.entries.length;
  t.equal(await retryAll(url), COUNTS.stuck);
  await history.each(hung, 'gone', before);
  t.strictSame(await given(IMPORTS), [
    ...complete,
    { type: 'stuck', status: 'complete', messages: [], count: COUNTS.stuck },
  ]);
  t.strictSame(await given(JOBS), []);
  t.strictSame(plugin.calls, new Map(hung.map((dataset) => [dataset, 1])), 'at the first try');
  t.equal(await service.stop(), 0);
});
