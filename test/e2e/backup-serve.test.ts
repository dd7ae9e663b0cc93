// A backup of `longshore serve` while users upload, edit, share and delete, on a PostgreSQL server with several databases and
// roles: what is restored is the state of one instant. The reconciler is off at first: nothing may need it.

import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { Api, detailsOf } from '../support/api.ts';
import { demandOneInstant, FILE, Load, pausesOf, setReconciler, USERS } from '../support/backup-load.ts';
import { longshore, running, tempDir } from '../support/longshore.ts';
import { withCache } from '../support/places.ts';
import { postgresWithDump, reconfigure, servedUp } from '../support/served-up.ts';
import { settled, swept, wholeState } from '../support/site-state.ts';

const programs = postgresWithDump() ?? '';
/** Each script is a process of its own here, unlike in `up`. */
const UPLOADS = 12;
const PATIENCE_MS = 300_000;
const skip = programs === '' && 'there is no PostgreSQL server with pg_dump of its version in /usr/lib/postgresql';

t.test('a backup of serve under load, everything lost, a restore: the state of one instant', { skip }, async (t) => {
  const root = await tempDir(t);
  const site = await servedUp(t, programs);
  const { dir, file: config } = site;
  const given = ['--config', config];
  await site.migrate();
  await setReconciler(dir, false);
  const service = await running(t, ['serve', ...given]);
  const apis = await Promise.all(
    USERS.slice(0, 2).map(async (user) => [user, new Api(site.installer, await site.token(user))] as const),
  );
  const shared = await Promise.all(apis.map(([, api]) => api.upload(detailsOf('genelist'), [FILE])));
  await settled(dir, PATIENCE_MS);
  const load = new Load(
    apis.map(([user, api], n) => [user, api, shared[n] ?? '']),
    UPLOADS,
  );
  await load.goesOn(10);
  const before = load.done.length;
  const file = join(root, 'backup.tar.gz');
  const made = await longshore(['backup', file, ...given, '--json']);
  const after = load.done.length;
  t.equal(made.code, 0, made.stderr);
  await load.goesOn(5);
  await load.stop();
  t.ok(after > before, `${after - before} things were done meanwhile`);
  t.comment(made.stdout);
  t.match(await longshore(['restore', file, ...given]), {
    code: 1,
    stderr: /nothing was restored: a process of longshore is connected to the cache database/,
  });
  await service.crash();

  t.match(await longshore(['backup', '--verify', file]), { code: 0, stdout: new RegExp(`configuration +${config}`) });
  t.match(await longshore(['restore', file, ...given]), { code: 1, stderr: /is not empty/ });
  const bytes = await readFile(file);
  bytes[Math.trunc(bytes.length / 2)] = (bytes[Math.trunc(bytes.length / 2)] ?? 0) ^ 1;
  const damaged = join(root, 'damaged.tar.gz');
  await writeFile(damaged, bytes);
  t.match(await longshore(['restore', damaged, ...given, '--force']), { code: 1, stderr: /is damaged/ });
  t.match(await longshore(['restore', file, '--data', join(root, 'other')]), {
    code: 1,
    stderr: /is a backup of 'longshore serve'/,
  });
  t.same(await readdir(join(dir, 'objects')), ['objects', 'staging'], 'nothing was touched');

  await rename(join(dir, 'objects'), join(root, 'lost-objects'));
  await rename(join(dir, 'sites'), join(root, 'lost-sites'));
  await site.emptyDatabases();
  const restored = await longshore(['restore', file, ...given]);
  t.match(restored, { code: 0, stderr: /next: longshore migrate-target BetaDB --config .*\n.*\n.*serve/ });
  t.same(await pausesOf(dir), [], 'the pauses of the backup are not restored');
  const again = await running(t, ['serve', ...given]);
  await swept(dir);
  await settled(dir, PATIENCE_MS);
  const states = await demandOneInstant(t, dir, load, { before, after });
  const found = await states();
  await again.stop();
  await setReconciler(dir, true);
  const last = await running(t, ['serve', ...given]);
  const { containerCore } = await import('yaml').then(async ({ parse }) => parse(await readFile(config, 'utf8')));
  const admin = ['--server', site.installer, '--admin-token', containerCore.authentication.adminToken];
  const run = await longshore(['reconcile', '--wait', '--json', ...admin]);
  t.match(JSON.parse(run.stdout), { reconciled: 0, deleted: 0, absent: { cache: 0, AlphaDB: 0, BetaDB: 0 } });
  t.same(await states(), found);
  await last.stop();
});

t.test('whatever kills a backup or a restore of serve, nothing that is left looks whole', { skip }, async (t) => {
  const root = await tempDir(t);
  const site = await servedUp(t, programs);
  const { dir, file: config } = site;
  const given = ['--config', config];
  const file = join(root, 'backup.tar');
  await site.migrate();
  const service = await running(t, ['serve', ...given]);
  const api = new Api(site.installer, await site.token('12'));
  await api.upload(detailsOf('genelist'), [FILE]);
  await settled(dir, PATIENCE_MS);

  // While the dump is made. Then the pauses end by themselves.
  const deadly = join(root, 'deadly');
  await mkdir(deadly);
  for (const [name, condition] of [
    ['pg_dump', '*--version*'],
    ['pg_restore', '*--version*|*--list*'],
  ] as const) {
    const program = join(deadly, name);
    await writeFile(
      program,
      `#!/bin/sh\ncase "$*" in ${condition}) exec ${programs}/${name} "$@";; esac\nkill -9 $PPID\n`,
    );
    await chmod(program, 0o755);
  }
  t.match(await longshore(['backup', file, ...given, '--postgres-bin', deadly]), { code: null });
  t.notOk(existsSync(file));
  const id = await api.upload(detailsOf('genelist'), [FILE]);
  await settled(dir, PATIENCE_MS);
  t.match(await longshore(['backup', file, ...given]), { code: 0 });
  t.same(await readdir(root), ['backup.tar', 'deadly']);
  t.notOk(existsSync(join(dir, 'objects', 'backup-snapshot')));
  await service.stop();

  // While a database is filled: no process starts on what is there, and the next restore begins again.
  t.match(await longshore(['restore', file, ...given, '--force', '--postgres-bin', deadly]), { code: null });
  t.match(await longshore(['serve', ...given]), { code: 1, stderr: /'longshore restore' was interrupted/ });
  t.match(await longshore(['restore', file, ...given]), { code: 1, stderr: /is not empty/ });
  const restored = await longshore(['restore', file, ...given, '--force', '--json']);
  t.equal(restored.code, 0, restored.stderr);
  const { movedAside } = JSON.parse(restored.stdout) as { movedAside: readonly string[] };
  t.ok(
    movedAside.some((place) => /^schema \w+_before_\w+ of database \w+$/.test(place)),
    'what was there is kept',
  );
  t.ok(movedAside.some((place) => existsSync(place)));
  const again = await running(t, ['serve', ...given]);
  await settled(dir, PATIENCE_MS);
  t.match(await wholeState(dir, '12', id, 'genelist'), {
    sites: { BetaDB: { status: 'complete/complete', rows: 60 } },
  });
  await again.stop();

  // Of an installation that is stopped.
  const stopped = join(root, 'stopped.tar');
  t.match(await longshore(['backup', stopped, ...given]), { code: 0 });
  // A configuration that is not that of the backup.
  await reconfigure(config, ({ installer }: { installer: { installTargets: { controlDb: { schema: string } }[] } }) => {
    for (const { controlDb } of installer.installTargets) controlDb.schema = `${controlDb.schema}_2`;
  });
  t.match(await longshore(['restore', stopped, ...given, '--force']), {
    code: 1,
    stderr: /has one dump of .*target AlphaDB control \(schema alphadb_control\)/,
  });
  const marks = await withCache(dir, async (cache) =>
    cache.query("select from pg_class where relname = 'restore_not_ended'"),
  );
  t.equal(marks.rowCount, 0, 'nothing was begun');
});

t.test('a bucket is not in a backup, whose manifest says what to do with it', { skip }, async (t) => {
  const { file: config } = await servedUp(t, programs);
  await reconfigure(config, ({ installer }: { installer: Record<string, unknown> }) => {
    const server = '127.0.0.1:9';
    installer.objectStore = {
      bucketName: 'datasets',
      server,
      accessToken: 'key-of-store',
      secretKey: 'secret-of-store',
    };
    const connection = { server, username: 'guest', password: 'guest' };
    installer.queueBroker = { global: { connection, exchange: { name: 'changes' }, queue: { name: 'changes' } } };
  });
  const file = join(await tempDir(t), 'bucket.tar');
  const made = await longshore(['backup', file, '--config', config]);
  t.match(made, { code: 0, stderr: /warning: not in the backup: the object store: bucket datasets at 127\.0\.0\.1:9/ });
  const { stdout } = await longshore(['backup', '--verify', file, '--json']);
  const { instant, notIncluded } = JSON.parse(stdout) as { instant: string; notIncluded: readonly string[] };
  t.match(
    notIncluded[0],
    /versioning of the bucket, or replicate it.* versions of its instant or later ones, never earlier/,
  );
  t.ok(Date.parse(instant) > 0, instant);
});
