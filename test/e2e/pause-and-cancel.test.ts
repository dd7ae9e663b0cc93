// What an operator pauses and cancels in the real program: `serve` with its lanes, threads and job table, and plugin servers.
// A plugin is paused while the import lane is full, the process is killed, and another one is started.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { stringify } from 'yaml';
import type { UserId } from '../../engine/model/ids.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { ImportServer } from '../support/import-server.ts';
import { ImportsHistory } from '../support/imports-history.ts';
import { freePortBase, longshore, running, tempDir } from '../support/longshore.ts';
import { seeding } from '../support/uploaded-datasets.ts';

const OWNER = '9007199254740993' as UserId;
const ADMIN_TOKEN = 'a'.repeat(40);
const WORKERS = 4;
/** One user may hold all workers but one. */
const BUSY = WORKERS - 1;
/** More than the workers could begin before the pause. */
const EACH = 40;

type Plugin = 'alpha' | 'beta';
const typesOf = (plugin: Plugin, count: number) =>
  Array.from({ length: count }, () => ({ name: plugin, version: '1.0' }));

async function configure(t: Test, db: TestDatabase, servers: Readonly<Record<Plugin, number>>) {
  const dir = await tempDir(t);
  const base = await freePortBase();
  await mkdir(join(dir, 'installed'));
  const plugin = (name: Plugin): object => ({
    server: { host: '127.0.0.1', port: servers[name] },
    installRoot: encodeURI(join(dir, 'installed')),
    dataTypes: [{ name, version: '1.0', category: name }],
  });
  const file = join(dir, 'longshore.yaml');
  const document = {
    containerCore: {
      shutdownGrace: '5s',
      authentication: { adminToken: ADMIN_TOKEN },
      ports: { installer: base },
    },
    installer: {
      cacheDb: {
        server: { host: db.host, port: db.port },
        ...{ username: db.user, password: db.password, name: db.database },
      },
      objectStore: { driver: 'directory', path: 'store' },
      logBroker: { driver: 'postgres' },
      queueBroker: { driver: 'postgres' },
      siteBuild: 'build-1',
      lanes: { import: { workerCount: WORKERS, inMemoryQueueSize: 4 } },
      plugins: { alpha: plugin('alpha'), beta: plugin('beta') },
      installTargets: [{ enabled: false }],
    },
  };
  await writeFile(file, stringify(document), { mode: 0o600 });
  return { file, store: join(dir, 'store'), url: `http://127.0.0.1:${base}` };
}

t.test(
  'a paused plugin stays paused over a kill -9, keeps nobody waiting, and goes on in order when it is resumed',
  async (t) => {
    const at = await testDatabase(t);
    // Its calls are held, so that some jobs run and others wait at the pause.
    const alpha = await ImportServer.open(t, { answers: false });
    const beta = await ImportServer.open(t, { answers: true });
    const { file, store, url } = await configure(t, at, { alpha: alpha.port, beta: beta.port });
    t.match(await longshore(['migrate', '--config', file]), { code: 0 });
    await using seeds = await seeding(at, store);
    const paused = await seeds.add(typesOf('alpha', EACH), OWNER);
    const others = await seeds.add(typesOf('beta', EACH), OWNER);
    for (const dataset of paused) await seeds.enqueueImports([dataset], OWNER);
    const history = await ImportsHistory.open(t, at);
    const admin = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await longshore([...args, '--server', url, '--admin-token', ADMIN_TOKEN]);
      t.equal(code, 0, stderr);
      return stdout;
    };
    const queued = async (): Promise<readonly string[]> =>
      (
        await seeds.db.query<{ id: string }>(
          `select dataset_id as id from job where lane = 'import' and type = 'alpha:1.0' order by job.id`,
        )
      ).map(({ id }) => id);

    const first = await running(t, ['serve', '--config', file]);
    await alpha.called(BUSY);
    const since = /since (\S+)/.exec(await admin('pause', 'plugin', 'alpha', '--reason', 'being replaced'))?.[1];
    await first.crash();
    const begun = new Set(alpha.calls.keys());
    t.ok(begun.size >= BUSY && begun.size < EACH, `${begun.size} imports had begun`);
    t.strictSame(await queued(), paused, 'none of them has ended');

    alpha.answers = true;
    alpha.calls.clear();
    const restarted = history.entries.length;
    const second = await running(t, ['serve', '--config', file]);
    await seeds.enqueueImports(others, OWNER);
    await history.each(others, 'gone', restarted);
    t.strictSame(history.entriesOf(others, 'import complete').length, EACH, 'the other plugin works as always');
    t.strictSame(alpha.calls.size, 0, 'the paused one is not called');
    t.strictSame(
      history.entries.slice(restarted).filter(({ dataset }) => paused.includes(dataset as never)),
      [],
    );
    t.strictSame(await queued(), paused);
    t.match(await admin('pause', 'list'), new RegExp(`plugin +alpha +${since} +Admin-Token +being replaced`));
    t.match(await (await fetch(`${url}/health`)).json(), { paused: [{ kind: 'plugin', name: 'alpha', since }] });
    t.match(await (await fetch(`${url}/metrics`)).text(), 'longshore_paused{kind="plugin",name="alpha"} 1');

    const resumed = history.entries.length;
    await admin('resume', 'plugin', 'alpha');
    await history.each(paused, 'gone', resumed);
    t.strictSame(
      history.entries.slice(resumed).flatMap(({ dataset, what }) => (what === 'claimed' ? [dataset] : [])),
      paused,
      'claimed in the order of their arrival',
    );
    t.strictSame(history.entriesOf(paused, 'import complete').length, EACH);
    t.strictSame(alpha.calls, new Map(paused.map((dataset) => [dataset, 1])), 'each is imported once');
    t.strictSame(await queued(), []);
    t.equal(await second.stop(), 0);
  },
);

t.test('a cancelled import is dead until it is retried, and its owner reads that an operator stopped it', async (t) => {
  const at = await testDatabase(t);
  const alpha = await ImportServer.open(t, { answers: false });
  const { file, store, url } = await configure(t, at, { alpha: alpha.port, beta: alpha.port });
  t.match(await longshore(['migrate', '--config', file]), { code: 0 });
  await using seeds = await seeding(at, store);
  const datasets = await seeds.add(typesOf('alpha', 1), OWNER);
  await seeds.enqueueImports(datasets, OWNER);
  const history = await ImportsHistory.open(t, at);
  const service = await running(t, ['serve', '--config', file]);
  const admin = (...args: string[]) => longshore([...args, '--server', url, '--admin-token', ADMIN_TOKEN]);
  await alpha.called(1);
  const [job] = await seeds.db.query<{ id: number }>('select id from job');
  const id = String(job?.id);
  t.match(await admin('cancel', id, '--hard', '--reason', 'wrong file'), { code: 0, stdout: `job ${id} cancelling\n` });
  await history.each(datasets, 'dead');
  t.strictSame(await seeds.db.query('select state, failure, message from job'), [
    { state: 'dead', failure: 'rejected', message: 'cancelled by Admin-Token: wrong file' },
  ]);
  const STATUS = 'select import_status as status, import_messages as messages from dataset';
  t.strictSame(await seeds.db.query(STATUS), [
    { status: 'failed', messages: ['an operator stopped this step; it is not repeated by itself'] },
  ]);
  t.match(await admin('cancel', id), { code: 1, stderr: /409: job \d+ is not running/ });
  alpha.answers = true;
  const before = history.entries.length;
  t.match(await admin('retry', id), { code: 0 });
  await history.each(datasets, 'gone', before);
  t.strictSame(await seeds.db.query(STATUS), [{ status: 'complete', messages: [] }]);
  t.equal(await service.stop(), 0);
});
