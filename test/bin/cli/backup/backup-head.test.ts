import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stableContent } from '../../../../bin/cli/backup/back-up.ts';
import { HEAD, INSTANT } from '../../../../bin/cli/backup/backup-head.ts';
import { BackupWriter } from '../../../../bin/cli/backup/backup-writer.ts';
import { verifyBackup } from '../../../../bin/cli/backup/unpacking.ts';
import { aborted } from '../../../../engine/runtime/failure.ts';

const signal = new AbortController().signal;
const COMMON = { format: 1, version: '1.0.0', migrations: { cache: 1 } };
const SERVED = {
  ...{ ...COMMON, configuration: '/etc/longshore.yaml' },
  databases: [{ folder: 'databases/1', uses: [{ name: 'cache database', schema: 'vdi' }], server: 18, dumpedBy: 18 }],
  folders: [{ folder: 'folders/1', path: '/data/store', keys: ['installer.objectStore.path'] }],
};
const DATA_DIR = { ...COMMON, dataDirectory: '/data' };
const END = { instant: '2026-01-01T00:00:00.000Z', notIncluded: ['the directory'] };

/** What a whole backup says that begins and ends so. */
async function verified(t: Test, head: object, end: object) {
  const root = await mkdtemp(join(tmpdir(), 'longshore-backup-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const file = join(root, 'backup.tar');
  {
    await using writer = await BackupWriter.open(file, signal);
    await writer.addContent(HEAD, JSON.stringify(head), 1_000);
    await writer.addContent(INSTANT, JSON.stringify(end), 1_000);
    await writer.finish(2_000);
  }
  return verifyBackup(file, () => undefined, signal);
}

t.test('a backup says at its begin and end what it is', async (t) => {
  for (const head of [SERVED, DATA_DIR, { ...DATA_DIR, postgres: 18 }])
    t.match(await verified(t, head, END), { head, end: END });
});

t.test('a backup that does not say what it is, is refused', async (t) => {
  const [database] = SERVED.databases;
  const heads: readonly object[] = [
    COMMON,
    { ...DATA_DIR, migrations: { cache: '1' } },
    { ...DATA_DIR, postgres: '18' },
    { ...SERVED, configuration: undefined },
    { ...SERVED, databases: [{ ...database, uses: ['cache database'] }] },
    { ...SERVED, databases: [{ ...database, folder: undefined }] },
    { ...SERVED, folders: [{ folder: 'folders/1', path: '/data/store' }] },
  ];
  for (const head of heads)
    await t.rejects(verified(t, head, END), { kind: 'rejected', message: /is not a backup of Longshore/ });
  const ends: readonly object[] = [
    [],
    { ...END, instant: 'today' },
    { ...END, notIncluded: undefined },
    { ...END, notIncluded: [1] },
  ];
  for (const end of ends) await t.rejects(verified(t, DATA_DIR, end), { kind: 'rejected', message: /is damaged/ });
});

t.test('reading a file that never stays the same ends with the signal', async (t) => {
  const until = new AbortController();
  const reading = stableContent('/proc/self/stat', until.signal);
  until.abort(aborted('stopped'));
  await t.rejects(reading, { kind: 'aborted', message: 'stopped' });
});
