import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { cacheMigrations, loadMigrations } from '../../../../engine/adapters/migrations/migrations.ts';
import { folderOnDisk } from '../../../../engine/runtime/program-files.ts';

async function folderWith(t: Test, ...files: readonly string[]): Promise<string> {
  const folder = t.testdir({});
  for (const file of files) await writeFile(join(folder, file), `-- ${file}`);
  return folder;
}

t.test('files are loaded in the order of their numbers', async (t) => {
  t.same(await loadMigrations(folderOnDisk(await folderWith(t, '0002-second.sql', '0001-first-one.sql'))), [
    { number: 1, name: 'first-one', sql: '-- 0001-first-one.sql' },
    { number: 2, name: 'second', sql: '-- 0002-second.sql' },
  ]);
});

t.test('a gap, a number given twice and another name are refused', async (t) => {
  for (const [files, message] of [
    [['0002-a.sql'], /'0002-a.sql' in .*: its number should be 1/],
    [['0001-a.sql', '0001-b.sql'], /'0001-b.sql' in .*: its number should be 2/],
    [['0001-a.sql', 'readme.md'], /'readme.md' in .* is no migration: NNNN-name.sql/],
  ] as const)
    await t.rejects(loadMigrations(folderOnDisk(await folderWith(t, ...files))), { kind: 'defect', message });
});

t.test('the cache database begins with the engine', async (t) => {
  const [first] = await cacheMigrations();
  t.match(first, { number: 1, name: 'engine', sql: /create table job / });
});
