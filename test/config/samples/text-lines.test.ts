import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { ownChunks } from '../../../config/samples/text-lines.ts';

t.test('what looks like a byte order mark in a file of our own is text', async (t) => {
  const file = join(t.testdir(), 'own.txt');
  await writeFile(file, '\uFEFFa\uFEFF\n');
  t.equal((await Array.fromAsync(ownChunks(file))).join(''), '\uFEFFa\uFEFF\n');
});
