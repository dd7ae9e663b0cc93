// A backup while users upload, edit, share and delete: what is restored is the state of one instant. Users do one thing after
// the other, and each thing that they begin comes after everything that had been answered by then, whoever had asked for it. So
// the restored state must have with each thing all that came before it. The reconciler is off at first: nothing may need it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { programArgv } from '../../engine/runtime/program-files.ts';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, processesBelow, tempDir, type Up, up } from '../support/longshore.ts';
import { filesBelow, SITES, withCache } from '../support/places.ts';
import { settled, swept, type WholeState, wholeState } from '../support/site-state.ts';

const USERS = ['12', '13', '14'];
const FILE = { name: 'genes.txt', content: geneList(60) };

/** Something that a user asked for, and that was answered. */
interface Done {
  readonly user: string;
  readonly dataset: string;
  readonly kind: 'upload' | 'edit' | 'share' | 'delete';
  /** How many things had been answered when it was begun. */
  readonly after: number;
  /** The new name, for an edit. */
  readonly name?: string;
  /** For a share. */
  readonly recipient?: string;
}

class Load {
  /** In the order of the answers. */
  readonly done: Done[] = [];
  #over = false;
  /** Resolves when another thing is done. */
  #next = Promise.withResolvers<void>();
  readonly #running: Promise<void>[];

  /** @param shared a dataset of each user that is installed */
  constructor(users: readonly (readonly [user: string, api: Api, shared: string])[]) {
    this.#running = users.map((user) => this.#work(...user));
  }

  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#running);
  }

  /** Resolves when so many more things were done. */
  async goesOn(things: number): Promise<void> {
    const wanted = this.done.length + things;
    while (this.done.length < wanted) await Promise.race([this.#next.promise, ...this.#running]);
  }

  async #work(user: string, api: Api, shared: string): Promise<void> {
    for (let n = 0; !this.#over; n++) {
      const uploaded = await this.#do({ user, kind: 'upload' }, () => api.upload(detailsOf('genelist'), [FILE]));
      const send = async (
        kind: Done['kind'],
        dataset: string,
        more: object,
        method: string,
        path = '',
        body?: object,
      ) => {
        if (this.#over) return;
        await this.#do({ user, kind, ...more }, async () => {
          const status = await api.send(method, `/datasets/${dataset}${path}`, body);
          if (status >= 300) throw new Error(`${method} ${dataset}${path}: ${status}`);
          return dataset;
        });
      };
      const name = `Edited ${user} ${n}`;
      await send('edit', uploaded, { name }, 'PATCH', '', { name: { value: name } });
      const recipient = String(1_000 + n);
      await send('share', shared, { recipient }, 'PUT', `/shares/${recipient}/offer`, { action: 'grant' });
      if (n % 3 === 2) await send('delete', uploaded, {}, 'DELETE');
    }
  }

  async #do(what: Omit<Done, 'after' | 'dataset'>, work: () => Promise<string>): Promise<string> {
    const after = this.done.length;
    const dataset = await work();
    this.done.push({ ...what, dataset, after });
    this.#next.resolve();
    this.#next = Promise.withResolvers();
    return dataset;
  }
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly recipients: readonly string[];
}

const rowsOf = (dir: string): Promise<ReadonlyMap<string, Row>> =>
  withCache(dir, async (cache) => {
    const { rows } = await cache.query<Row>(
      `select dataset_id as id, d.metadata->>'name' as name, state,
         array(select recipient_id::text from dataset_share s where s.dataset_id = d.dataset_id) as recipients
       from dataset d`,
    );
    return new Map(rows.map((row) => [row.id, row]));
  });

const pausesOf = (dir: string): Promise<readonly unknown[]> =>
  withCache(dir, async (cache) => (await cache.query('select kind, name, reason from pause')).rows);

/** Whether the state has it. */
function has(rows: ReadonlyMap<string, Row>, { kind, dataset, name, recipient = '' }: Done): boolean {
  const row = rows.get(dataset);
  if (!row || kind === 'upload') return row !== undefined;
  if (kind === 'edit') return row.name === name;
  return kind === 'share' ? row.recipients.includes(recipient) : row.state !== 'live';
}

const setReconciler = async (dir: string, enabled: boolean): Promise<void> => {
  const file = join(dir, 'config.yaml');
  const document = parse(await readFile(file, 'utf8'));
  document.installer.daemons = { reconciler: { enabled } };
  await writeFile(file, stringify(document), { mode: 0o600 });
};

/** Also what was being started when the others were killed. */
async function killAll(app: Up, spared?: number): Promise<void> {
  await app.crash();
  const left = (): readonly number[] => processesBelow(app.dir).filter((pid) => pid !== spared);
  for (let pids = left(); pids.length > 0; pids = left())
    for (const pid of pids)
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended with another.
      }
}

t.test('a backup under load, a lost data directory, a restore: the state of one instant', async (t) => {
  const root = await tempDir(t);
  const [dir, file] = [join(root, 'data'), join(root, 'backup.tar.gz')];
  const args = ['--port-base', String(await freePortBase())];
  const app = await up(t, dir, args);
  const apis = await Promise.all(
    USERS.map(async (user) => [user, new Api(app.endpoints.installer, await app.token(user))] as const),
  );
  const shared = await Promise.all(apis.map(([, api]) => api.upload(detailsOf('genelist'), [FILE])));
  await settled(dir);
  const load = new Load(apis.map(([user, api], n) => [user, api, shared[n] ?? '']));
  await load.goesOn(20);
  const before = load.done.length;
  const made = await longshore(['backup', file, '--data', dir, '--json']);
  const after = load.done.length;
  t.equal(made.code, 0, made.stderr);
  await load.goesOn(10);
  await load.stop();
  t.ok(after > before, `${after - before} things were done meanwhile`);
  t.comment(made.stdout);
  await killAll(app);
  // Not removed: a script that is ending may still write its compile cache.
  await rename(dir, join(root, 'lost'));

  t.match(await longshore(['backup', '--verify', file]), { code: 0 });
  t.match(await longshore(['restore', file, '--data', dir]), { code: 0 });
  await setReconciler(dir, false);
  const again = await up(t, dir, args);
  t.same(await pausesOf(dir), [], 'the pauses of the backup are not restored');
  await swept(dir);
  await settled(dir);
  const rows = await rowsOf(dir);
  const kept = load.done.map((one) => has(rows, one));
  for (const [n, one] of load.done.entries()) {
    if (!kept[n]) continue;
    const lost = load.done.slice(0, one.after).filter((_, earlier) => !kept[earlier]);
    t.same(lost, [], `with ${one.kind} of ${one.dataset} there is all that came before it`);
  }
  t.notOk(kept.slice(0, before).includes(false), 'all that was done before the backup is there');
  t.same(
    load.done.filter((one, n) => kept[n] && one.after >= after),
    [],
    'nothing is there that was begun after the backup',
  );

  // Every dataset is whole, or gone as one that was deleted: in the cache, in the store, and on both sites.
  const states = async (): Promise<Record<string, WholeState>> => {
    const all: Record<string, WholeState> = {};
    for (const { user, dataset, kind } of load.done)
      if (kind === 'upload' && rows.has(dataset)) all[dataset] = await wholeState(dir, user, dataset, 'genelist');
    return all;
  };
  const restored = await states();
  const owners = new Map(load.done.map(({ dataset, user }) => [dataset, user]));
  const first = new Map<string, WholeState>();
  for (const [id, state] of Object.entries(restored)) {
    if (rows.get(id)?.state === 'live') {
      const owner = owners.get(id) ?? '';
      for (const site of SITES) t.match(state.sites[site], { status: 'complete/complete', rows: 60, shownTo: [owner] });
      t.same(state, first.get(owner) ?? state, `${id} is as the others of user ${owner}`);
      first.set(owner, state);
    } else
      for (const site of SITES) t.match(state.sites[site], { rows: 0, files: [], shownTo: [] }, `${id} is deleted`);
    t.match(state, { miscounted: 0, leftovers: { jobs: 0, leases: 0, attempts: 0, uploads: 0 } }, id);
  }
  for (const user of USERS) {
    const folders = (await filesBelow(join(dir, 'objects', 'objects', user))).map((key) => key.split('/')[0]);
    const known = [
      ...new Set(load.done.filter((one) => one.user === user && rows.has(one.dataset)).map((one) => one.dataset)),
    ];
    t.same(
      [...new Set(folders)].filter((id) => !rows.has(id ?? '')),
      [],
      'nothing in the store is unknown',
    );
    t.same(
      known.filter((id) => !folders.includes(id)),
      [],
      'nothing is missing from the store',
    );
  }
  for (const site of SITES)
    for (const name of await readdir(join(dir, 'sites', site)))
      t.equal(rows.get(name)?.state, 'live', `${name} lies on ${site}`);

  // The reconciler finds nothing to do.
  await again.stop();
  await setReconciler(dir, true);
  const last = await up(t, dir, args);
  const run = await longshore(['reconcile', '--wait', '--json', '--data', dir]);
  t.match(
    JSON.parse(run.stdout),
    { reconciled: 0, deleted: 0, absent: { cache: 0, AlphaDB: 0, BetaDB: 0 } },
    run.stdout,
  );
  t.same(await states(), restored);
  await last.stop();
});

/** Starts a backup; resolves when it has begun to link objects. */
async function linking(t: Test, dir: string, file: string): Promise<ChildProcess> {
  const begun = Promise.withResolvers<void>();
  const watcher = watch(join(dir, 'objects'), (_, name) => {
    if (name === 'backup-snapshot') begun.resolve();
  });
  t.teardown(() => watcher.close());
  const [program, ...first] = programArgv();
  const child = spawn(program, [...first, 'backup', file, '--data', dir], { stdio: 'ignore' });
  await Promise.race([begun.promise, once(child, 'close')]);
  return child;
}

t.test('a backup that is killed, and one whose server is killed, hold up nobody and leave nothing', async (t) => {
  const root = await tempDir(t);
  const [dir, file] = [join(root, 'data'), join(root, 'backup.tar')];
  const args = ['--port-base', String(await freePortBase())];
  const app = await up(t, dir, args);
  const api = new Api(app.endpoints.installer, await app.token('12'));
  await api.upload(detailsOf('genelist'), [FILE]);
  await settled(dir);

  const killed = await linking(t, dir, file);
  killed.kill('SIGKILL');
  await once(killed, 'close');
  // The pauses and the hold end by themselves, and the dataset is installed.
  const id = await api.upload(detailsOf('genelist'), [FILE]);
  await settled(dir);
  t.match(await wholeState(dir, '12', id, 'genelist'), { sites: { AlphaDB: { status: 'complete/complete' } } });
  t.notOk(existsSync(file));
  t.match(await longshore(['backup', file, '--data', dir]), { code: 0 });
  t.same(await readdir(root), ['backup.tar', 'data']);
  t.notOk(existsSync(join(dir, 'objects', 'backup-snapshot')));

  const other = join(root, 'other.tar');
  const orphaned = await linking(t, dir, other);
  const ended = once(orphaned, 'close');
  await killAll(app, orphaned.pid);
  const [code] = (await ended) as [number];
  t.not(code, 0);
  t.same(await readdir(root), ['backup.tar', 'data'], 'it leaves nothing');
  const again = await up(t, dir, args);
  await settled(dir);
  await again.stop();

  // Of a directory that nothing runs on.
  t.match(await longshore(['backup', other, '--data', dir]), { code: 0 });
  t.match(await longshore(['restore', other, '--data', dir]), { code: 1, stderr: /is not empty/ });
  const bytes = await readFile(other);
  bytes[Math.trunc(bytes.length / 2)] = (bytes[Math.trunc(bytes.length / 2)] ?? 0) ^ 1;
  await writeFile(join(root, 'damaged.tar'), bytes);
  await writeFile(join(root, 'short.tar'), bytes.subarray(0, bytes.length / 2));
  const there = await readdir(dir);
  for (const name of ['damaged.tar', 'short.tar']) {
    t.match(await longshore(['backup', '--verify', join(root, name)]), { code: 1, stderr: /is damaged/ });
    t.match(await longshore(['restore', join(root, name), '--data', dir, '--force']), {
      code: 1,
      stderr: /is damaged/,
    });
    t.same(await readdir(dir), there, 'nothing was touched');
  }
  const restored = await longshore(['restore', other, '--data', dir, '--force', '--json']);
  t.equal(restored.code, 0, restored.stderr);
  const { movedAside } = JSON.parse(restored.stdout) as { movedAside: string };
  t.ok(existsSync(join(movedAside, 'config.yaml')), 'what was there is kept');

  // What was interrupted is not started, and is made anew.
  await mkdir(join(dir, 'restore-partial'));
  t.match(await longshore(['up', '--data', dir]), { code: 1, stderr: /'longshore restore' was interrupted/ });
  t.match(await longshore(['restore', other, '--data', dir, '--force']), { code: 0 });
  t.notOk(existsSync(join(dir, 'restore-partial')));

  // A copy beside it, to try the backup out: the configuration names its own paths.
  const copy = join(root, 'copy');
  t.match(await longshore(['restore', other, '--data', copy]), { code: 0, stderr: /paths in .* were changed/ });
  const config = await readFile(join(copy, 'config.yaml'), 'utf8');
  t.ok(config.includes(join(copy, 'objects')));
  t.notOk(config.includes(`${dir}/`));
  const beside = await up(t, copy, ['--port-base', String(await freePortBase())]);
  t.match(await wholeState(copy, '12', id, 'genelist'), { sites: { BetaDB: { status: 'complete/complete' } } });
  t.match(await longshore(['restore', other, '--data', copy, '--force']), {
    code: 1,
    stderr: /another 'longshore up'/,
  });
  await beside.stop();
});
