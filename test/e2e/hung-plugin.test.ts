// A plugin whose calls never return, in the real program: `serve` with its lanes, threads and job table, a plugin
// server that takes calls on and says nothing, and two plugins that work, one of them in the plugin host with a script.
// The others' datasets do not wait for the hung ones, which are given up after three tries (design, From a change to a
// job, 4, 6 and 8) until somebody retries them.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { stringify } from 'yaml';
import type { UserId } from '../../engine/model/ids.ts';
import type { DatasetType } from '../../engine/model/metadata.ts';
import { newKeyPair } from '../../http/local-issuer.ts';
import { Api } from '../support/api.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { ImportServer } from '../support/import-server.ts';
import { type HistoryEntry, ImportsHistory } from '../support/imports-history.ts';
import { freePortBase, longshore, ROOT, running, tempDir } from '../support/longshore.ts';
import { seeding } from '../support/uploaded-datasets.ts';

const OWNER = '9007199254740993' as UserId;
const ADMIN_TOKEN = 'a'.repeat(40);
/** Datasets of each plugin. 20 workers give up on about 5 hung ones in a second. */
const COUNTS = { stuck: 100, reads: 800, genes: 100 };
const WORKERS = 20;
/** Of a call: `maxDuration` and the time for the way. */
const DEADLINE_MS = 1_050;
const RETRIES_AT_ONCE = 8;
const SCRIPTS = join(ROOT, 'test', 'fixtures', 'scripts', 'plugin');

const none: HistoryEntry = { dataset: '', what: '' };

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
            scripts: { dataCleaning: { maxDuration: '1s' } },
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
  return { file, store: join(dir, 'store'), url: `http://127.0.0.1:${base}` };
}

interface ListedJob {
  readonly id: number;
  readonly datasetId: string;
  readonly tries: number;
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
  const { file, store, url } = await configure(t, at, { stuck: plugin.port, reads: sound.port });
  t.match(await longshore(['migrate', '--config', file]), { code: 0, stderr: '' });
  await using seeds = await seeding(at, store);
  const hung = await seeds.add(typesOf('stuck'), OWNER);
  const others = await seeds.add([...typesOf('reads'), ...typesOf('genes')], OWNER);
  await seeds.enqueueImports(hung, OWNER);
  await seeds.enqueueImports(others, OWNER);
  const history = await ImportsHistory.open(t, at);

  const service = await running(t, ['serve', '--config', file]);
  await Promise.all([history.each(others, 'gone'), history.each(hung, 'dead')]);
  const completed = history.entriesOf(others, 'import complete');
  const lastCompleted = history.entries.indexOf(completed.at(-1) ?? none);
  const lastDead = history.entries.indexOf(history.entriesOf(hung, 'dead').at(-1) ?? none);
  t.equal(completed.length, others.length);
  t.ok(lastCompleted < lastDead, 'the others are complete before the last hung one is given up');
  const claims = history.entriesOf(hung, 'claimed').filter(({ othersWait = 0 }) => othersWait > 0);
  const most = Math.max(...claims.map(({ held = 0 }) => held));
  t.equal(most, WORKERS / 2, 'the hung ones have half of the workers at most while others wait');

  const message = `plugin server stuck at http://127.0.0.1:${plugin.port}/import: time-out, no answer within ${DEADLINE_MS} ms`;
  const given = (sql: string): Promise<readonly object[]> => seeds.db.query(sql);
  const JOBS = `select type, state, tries, failure, message, count(*) from job where lane = 'import' group by 1, 2, 3, 4, 5`;
  t.strictSame(await given(JOBS), [
    { type: 'stuck:1.0', state: 'dead', tries: 3, failure: 'transient', message, count: COUNTS.stuck },
  ]);
  const IMPORTS = `select type_name as type, import_status as status, import_messages as messages, count(*)
    from dataset group by 1, 2, 3 order by 1`;
  const complete = [
    { type: 'genes', status: 'complete', messages: ['one line was odd', 'für alle λ'], count: COUNTS.genes },
    { type: 'reads', status: 'complete', messages: [], count: COUNTS.reads },
  ];
  t.strictSame(await given(IMPORTS), [
    ...complete,
    { type: 'stuck', status: 'failed', messages: [message], count: COUNTS.stuck },
  ]);
  t.strictSame(plugin.calls, new Map(hung.map((dataset) => [dataset, 3])), 'each was tried three times');
  const token = (await longshore(['token', '--config', file, '--user', OWNER])).stdout.trim();
  t.match(await new Api(url, token).json(`/datasets/${hung[0]}`), {
    status: { import: { status: 'failed', messages: [message] } },
  });

  plugin.answers = true;
  const before = history.entries.length;
  t.equal(await retryAll(url), COUNTS.stuck);
  await history.each(hung, 'gone', before);
  t.strictSame(await given(IMPORTS), [
    ...complete,
    { type: 'stuck', status: 'complete', messages: [], count: COUNTS.stuck },
  ]);
  t.strictSame(await given(JOBS), []);
  t.strictSame(plugin.calls, new Map(hung.map((dataset) => [dataset, 4])), 'and once more');
  t.equal(await service.stop(), 0);
});
