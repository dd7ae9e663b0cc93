// A backup while users upload, edit, share and delete: what is restored is the state of one instant. The reconciler is off at
// first: nothing may need it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { programArgv } from '../../engine/runtime/program-files.ts';
import { Api, detailsOf } from '../support/api.ts';
import { demandOneInstant, FILE, Load, pausesOf, setReconciler, USERS } from '../support/backup-load.ts';
import { freePortBase, longshore, processesBelow, tempDir, type Up, up } from '../support/longshore.ts';
import { settled, swept, wholeState } from '../support/site-state.ts';

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
  const states = await demandOneInstant(t, dir, load, { before, after });
  const restored = await states();

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
