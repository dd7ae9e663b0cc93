import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { archiveByName, detectArchive, detectArchiveFile } from '../../../engine/archive/archive-entry.ts';
import { rawZip, tarGzOf, zipOf } from '../../fixtures/archives.ts';

t.test('tells archives by their first bytes', async (t) => {
  const dir = t.testdir();
  const kinds = [
    [await zipOf({ a: 'a' }), 'zip'],
    [rawZip([]), 'empty zip'],
    [Buffer.from('PK\x07\x08PK\x03\x04'), 'split zip'],
    [await tarGzOf({ a: 'a' }), 'gzip'],
    [Buffer.from('PK\x01\x02'), undefined],
    [Buffer.from('PK'), undefined],
    [Buffer.from('a,b,c'), undefined],
    [Buffer.alloc(0), undefined],
  ] as const;
  for (const [content, kind] of kinds) {
    t.equal(detectArchive(content), kind);
    await writeFile(join(dir, 'file'), content);
    t.equal(await detectArchiveFile(join(dir, 'file')), kind);
  }
});

t.test('tells what a name promises', async (t) => {
  const promised = {
    'a.zip': 'zip',
    'A.ZIP': 'zip',
    'a.tar.gz': 'tar.gz',
    'a.Tgz': 'tar.gz',
    'a.txt.gz': undefined,
    zip: undefined,
  };
  for (const [name, kind] of Object.entries(promised)) t.equal(archiveByName(name), kind, name);
});
