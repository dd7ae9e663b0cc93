import { randomBytes } from 'node:crypto';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FILE_CHUNK_BYTES, fileChunks } from '../../../engine/archive/file-chunks.ts';

const content = randomBytes(3 * FILE_CHUNK_BYTES + 5);

t.test('the whole file comes through one buffer', async (t) => {
  await using handle = await open(await fileOf(t, content));
  const buffers = new Set<ArrayBufferLike>();
  const read: Buffer[] = [];
  for await (const chunk of fileChunks(handle)) {
    buffers.add(chunk.buffer);
    read.push(Buffer.from(chunk));
  }
  t.ok(Buffer.concat(read).equals(content));
  t.equal(buffers.size, 1);
});

t.test('a range comes alone, as far as the file has it', async (t) => {
  await using handle = await open(await fileOf(t, content));
  const range = async (from: number, length: number): Promise<Buffer> =>
    Buffer.concat(await Array.fromAsync(fileChunks(handle, { from, length }), (chunk) => Buffer.from(chunk)));
  const inside = await range(7, FILE_CHUNK_BYTES + 1);
  t.ok(inside.equals(content.subarray(7, 8 + FILE_CHUNK_BYTES)));
  t.ok((await range(content.length - 3, 10)).equals(content.subarray(-3)));
  t.equal((await range(content.length, 10)).length, 0);
  t.equal((await range(0, 0)).length, 0);
});

async function fileOf(t: Test, bytes: Buffer): Promise<string> {
  const dir = t.testdir();
  const file = join(dir, 'content');
  await writeFile(file, bytes);
  return file;
}
