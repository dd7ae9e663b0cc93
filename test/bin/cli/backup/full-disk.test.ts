// A disk that is full ends a backup and a restore with the reason, and neither leaves anything on it.

import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { HEAD, headOf, INSTANT } from '../../../../bin/cli/backup/backup-head.ts';
import { BackupWriter } from '../../../../bin/cli/backup/backup-writer.ts';
import { dataDir } from '../../../../bin/compose/data-dir.ts';

const signal = new AbortController().signal;
const MODULES = join(import.meta.dirname, '../../../../bin');
/** In a name space of its own, where the folder is a disk of 64 KiB. */
const ON_SMALL_DISK = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"';
const isolated = (folder: string, command: readonly string[]): readonly string[] => [
  ...['--user', '--map-root-user', '--mount', 'sh', '-c', ON_SMALL_DISK, folder, ...command],
];

/** The message of what the module code throws, and what is in the folder afterwards. */
function onSmallDisk(
  folder: string,
  code: string,
): Promise<{ readonly message: string; readonly left: readonly string[] }> {
  const program = `
    import { readdir } from 'node:fs/promises';
    const signal = new AbortController().signal;
    const message = await (async () => { ${code} })().then(() => 'it succeeded', (error) => error.message);
    console.log(JSON.stringify({ message, left: await readdir(${JSON.stringify(folder)}, { recursive: true }) }));`;
  const command = [process.execPath, '--input-type=module', '-e', program];
  return new Promise((resolve, reject) => {
    execFile('unshare', isolated(folder, command), (error, stdout, stderr) =>
      error ? reject(new Error(stderr, { cause: error })) : resolve(JSON.parse(stdout)),
    );
  });
}

function whyNoSmallDisk(): string | false {
  try {
    execFileSync('unshare', isolated('/tmp', ['true']), { stdio: 'ignore' });
    return false;
  } catch {
    return 'no file system can be mounted here';
  }
}

async function setup(t: Test) {
  const root = await mkdtemp(join(tmpdir(), 'longshore-full-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const [disk, large, backup] = [join(root, 'disk'), join(root, 'large'), join(root, 'backup.tar')];
  await mkdir(disk);
  await writeFile(large, 'x'.repeat(1_000_000));
  await using writer = await BackupWriter.open(backup, signal);
  await writer.addContent(HEAD, JSON.stringify(await headOf(dataDir('/data/longshore'))), 1);
  await writer.addPath('large', large);
  await writer.addContent(INSTANT, JSON.stringify({ instant: '2026-01-01T00:00:00.000Z', notIncluded: [] }), 1);
  await writer.finish(1);
  return { disk, large, backup };
}

t.test('a full disk', { skip: whyNoSmallDisk() }, async (t) => {
  const { disk, large, backup } = await setup(t);
  const written = await onSmallDisk(
    disk,
    `const { BackupWriter } = await import('${MODULES}/cli/backup/backup-writer.ts');
     await using writer = await BackupWriter.open('${disk}/backup.tar', signal);
     await writer.addPath('large', '${large}');
     await writer.finish(1);`,
  );
  t.match(written, { message: /disk\/backup\.tar cannot be written: ENOSPC/, left: [] });
  const restored = await onSmallDisk(
    disk,
    `const { restoreDataDir } = await import('${MODULES}/cli/backup/restore.ts');
     const { dataDir } = await import('${MODULES}/compose/data-dir.ts');
     const order = { file: '${backup}', dir: dataDir('${disk}'), force: false, tell: () => {}, clock: { now: Date.now } };
     await restoreDataDir(order, signal);`,
  );
  t.match(restored, { message: /disk: ENOSPC/, left: [] });
});
