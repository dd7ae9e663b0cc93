import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { sampleDatabase, sampleRun } from './sample-run.ts';

const db = await sampleDatabase(t);

t.test('files are kept with their folders, and installed for the site', async (t) => {
  const sample = await sampleRun(t, 'lightweight', db);
  const files = [
    { name: 'a.txt', text: 'a' },
    { name: 'Größe/b c.bin', text: '\0\u0001' },
  ];
  t.same(await sample.import(files), { exit: 0, said: [], output: { 'a.txt': 'a', 'Größe/b c.bin': '\0\u0001' } });
  await writeFile(join(sample.propertiesDir, 'props.tsv'), 'x');
  t.same(await sample.run('install-data', ['light', sample.dataDir]), { exit: 0, said: [] });
  t.same(await sample.run('install-meta', ['light', sample.metaFile, sample.propertiesDir]), { exit: 0, said: [] });
  t.same(await db.query('select dataset_id, properties from dataset_meta'), [
    { dataset_id: 'light', properties: ['props.tsv'] },
  ]);
  t.same(Object.keys(await sample.installed()).sort(), ['Größe/b c.bin', 'a.txt', 'vdi-meta.json'].sort());
});

t.test('an empty upload, a reserved name and a link are refused', async (t) => {
  const sample = await sampleRun(t, 'lightweight', db);
  t.same(await sample.import([]), { exit: 99, said: ['the upload holds no file'], output: {} });
  t.same((await sample.import([{ name: 'vdi-x.json', text: '' }])).said, [
    "'vdi-x.json': names beginning with 'vdi-' are reserved",
  ]);
  await sample.import([{ name: 'a.txt', text: '' }]);
  await symlink('/etc/passwd', join(sample.dataDir, 'link'));
  t.same(await sample.run('install-data', ['linked', sample.dataDir]), {
    exit: 99,
    said: ["'link' is neither a file nor a folder"],
  });
});

t.test('metadata that cannot be read fail the script, not the data', async (t) => {
  const sample = await sampleRun(t, 'lightweight', db);
  await writeFile(sample.metaFile, 'no json');
  t.same(await sample.run('install-meta', ['x', sample.metaFile, sample.propertiesDir]), { exit: 1, said: [] });
});
