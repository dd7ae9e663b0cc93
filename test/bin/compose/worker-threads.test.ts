import { hash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Archives, archivesHere } from '../../../actors/tasks/archives.ts';
import { workerThreads } from '../../../bin/compose/worker-threads.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../engine/runtime/time.ts';

const signal = new AbortController().signal;
const MiB = 1024 * 1024;

t.test('a stored zip that two threads write is the one that one thread writes', async (t) => {
  const { archives, dir } = await threads(t);
  const [large, small] = [join(dir, 'large'), join(dir, 'small')];
  await writeFile(large, 'begins');
  await truncate(large, 40 * MiB);
  await writeFile(small, '{}');
  const files = [
    { path: 'data.zip', file: large, size: 40 * MiB },
    { path: 'meta.json', file: small, size: 2 },
  ];
  const [ours, here] = [join(dir, 'ours.zip'), join(dir, 'here.zip')];
  const written = await archives.zip(ours, files, { level: 0 }, signal);
  t.strictSame(written, await archivesHere.zip(here, files, { level: 0 }, signal));
  t.ok((await readFile(ours)).equals(await readFile(here)));
});

t.test('a thread computes the digest of a file', async (t) => {
  const { archives, dir } = await threads(t);
  const bytes = randomBytes(3 * MiB + 1);
  await writeFile(join(dir, 'file'), bytes);
  t.equal(await archives.sha256(join(dir, 'file'), signal), hash('sha256', bytes));
});

t.test('a file that is gone fails a zip in pieces as it fails a small one, and leaves nothing', async (t) => {
  const { archives, dir } = await threads(t);
  for (const size of [1, 40 * MiB]) {
    const files = [{ path: 'a', file: join(dir, 'gone'), size }];
    await t.rejects(archives.zip(join(dir, 'a.zip'), files, { level: 0 }, signal), {
      kind: 'transient',
      message: /writing .*a\.zip: ENOENT/,
    });
  }
  t.strictSame(await readdir(dir), []);
});

async function threads(t: Test): Promise<{ readonly archives: Archives; readonly dir: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  const parts = { clock: systemClock, log: silentLogger(), metrics: new Metrics() };
  const { spec, archives } = workerThreads({ store: undefined, plugins: [] }, parts);
  const pool = spec.create();
  await pool.start(signal);
  t.teardown(async () => {
    await pool.stop(systemClock.now() + 5_000);
    await rm(dir, { recursive: true });
  });
  return { archives, dir };
}
