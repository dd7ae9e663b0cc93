// Five hundred dead imports of three causes in the real program: listed by cause, one cause retried, one discarded. A full run
// of the reconciler brings back nothing that was discarded.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { ImportServer } from '../support/import-server.ts';
import { ImportsHistory } from '../support/imports-history.ts';
import { freePortBase, longshore, running, tempDir } from '../support/longshore.ts';
import { seeding } from '../support/uploaded-datasets.ts';

const OWNER = '9007199254740993' as UserId;
const ADMIN_TOKEN = 'a'.repeat(40);

/** How the plugin's server refuses the n-th dataset; each message differs. */
const CAUSES = {
  room: { count: 240, status: 507, text: (n: number, id: string) => `no room in /srv/scratch/${id} for ${n} bytes` },
  genes: { count: 160, status: 409, text: (n: number) => `gene 'PF3D7_${n}' is unknown` },
  tool: { count: 100, status: 501, text: () => 'the converter is missing' },
} as const;
type Cause = keyof typeof CAUSES;
const NAMES = Object.keys(CAUSES) as Cause[];

async function configure(t: Test, db: TestDatabase, plugin: number) {
  const dir = await tempDir(t);
  const base = await freePortBase();
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
      plugins: {
        alpha: {
          server: { host: '127.0.0.1', port: plugin },
          installRoot: encodeURI(join(dir, 'installed')),
          dataTypes: [{ name: 'alpha', version: '1.0', category: 'alpha' }],
        },
      },
      installTargets: [{ enabled: false }],
    },
  };
  await writeFile(file, stringify(document), { mode: 0o600 });
  return { file, store: join(dir, 'store'), url: `http://127.0.0.1:${base}` };
}

t.test('500 dead imports of three causes: one cause is retried, one discarded, and nothing else moves', async (t) => {
  const at = await testDatabase(t);
  const server = await ImportServer.open(t, { answers: true });
  const { file, store, url } = await configure(t, at, server.port);
  t.match(await longshore(['migrate', '--config', file]), { code: 0 });
  await using seeds = await seeding(at, store);
  const total = NAMES.reduce((sum, name) => sum + CAUSES[name].count, 0);
  const all = await seeds.add(
    Array.from({ length: total }, () => ({ name: 'alpha', version: '1.0' })),
    OWNER,
  );
  const of = new Map<Cause, readonly DatasetId[]>();
  for (const name of NAMES) {
    const from = [...of.values()].flat().length;
    of.set(name, all.slice(from, from + CAUSES[name].count));
  }
  const datasets = (name: Cause): readonly DatasetId[] => of.get(name) ?? [];
  const causeOf = new Map(NAMES.flatMap((name) => datasets(name).map((id) => [id as string, name] as const)));
  server.refusal = (id) => {
    const name = causeOf.get(id);
    const cause = name && CAUSES[name];
    return cause && { status: cause.status, text: cause.text(all.indexOf(id as DatasetId), id) };
  };
  await seeds.enqueueImports(all, OWNER);
  const history = await ImportsHistory.open(t, at);
  const admin = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await longshore([...args, '--server', url, '--admin-token', ADMIN_TOKEN]);
    t.equal(code, 0, stderr);
    return stdout;
  };
  const rows = (name: Cause) =>
    seeds.db.query(
      `select d.dataset_id, d.import_status, d.import_messages, d.failed_at, j.id, j.lane, j.state, j.attempts, j.message
       from dataset d left join job j on j.dataset_id = d.dataset_id and j.lane = 'import' where d.dataset_id = any($1) order by 1`,
      [datasets(name)],
    );
  const causes = async (): Promise<readonly { cause: string; count: number; state: string }[]> =>
    JSON.parse(await admin('problems', '--causes', '--json'));

  const service = await running(t, ['serve', '--config', file]);
  await history.each(all, 'dead');
  const before = await causes();
  t.match(
    before.map(({ count, state }) => [count, state]),
    [
      [240, 'dead'],
      [160, 'dead'],
      [100, 'dead'],
    ],
  );
  const [room, genes, tool] = before.map(({ cause }) => cause) as [string, string, string];
  t.match([room, genes, tool], [/no room in PATH for N bytes/, /gene '...' is unknown/, /the converter is missing/]);
  const untouched = await rows('tool');

  t.match(await admin('retry', '--cause', room, '--dry-run'), /^240 problems would be retried$/m);
  t.strictSame(await causes(), before, 'a dry run changes nothing');
  server.refusal = () => undefined;
  const retried = history.entries.length;
  t.match(await admin('retry', '--cause', room), /^240 of 240 problems retried$/m);
  await history.each(datasets('room'), 'gone', retried);
  t.ok((await rows('room')).every((row) => row.import_status === 'complete' && row.id === null));
  t.match(await admin('discard', '--cause', genes, '--reason', 'wrong build'), /^160 of 160 problems discarded$/m);
  t.strictSame(await causes(), [before[2]], 'the third cause is left');
  t.strictSame(await rows('tool'), untouched);
  t.ok((await rows('genes')).every((row) => row.import_status === 'failed' && row.id === null));

  await admin('reconcile', '--wait');
  t.strictSame(await causes(), [before[2]], 'a full run brings nothing back');
  t.strictSame(await rows('tool'), untouched);
  t.strictSame(
    history.entries.slice(retried).filter(({ dataset, what }) => what === 'claimed' && causeOf.get(dataset) !== 'room'),
    [],
    'nothing else ran',
  );
  const [row] = (await admin('audit', 'export', '--route', '/admin/problems/discard')).trim().split('\n');
  t.match(JSON.parse(row ?? ''), {
    actor: { kind: 'machine', id: 'Admin-Token' },
    records: { reason: 'wrong build', problems: '160', done: '160' },
  });
  t.match(await admin('jobs', '--state', 'dead', '--json'), '"total": 100');
  t.equal(await service.stop(), 0);
});
