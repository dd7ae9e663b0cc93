// Folders of text-like files, the same ones in every run: words that deflate to about .44 of their size.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { crc32 } from 'node:zlib';

export interface TreeFile {
  /** In archives. */
  readonly path: string;
  /** On disk. */
  readonly file: string;
  readonly size: number;
  readonly crc: number;
}

export interface Tree {
  readonly dir: string;
  readonly files: readonly TreeFile[];
  readonly bytes: number;
}

const WORDS = 5_000;
const WORDS_PER_LINE = 12;

/** Makes `count` files of `size` bytes below `dir`, 100 to a folder. */
export async function makeTree(dir: string, count: number, size: number): Promise<Tree> {
  const vocabulary = words(random(1));
  const files: TreeFile[] = [];
  for (let n = 0; n < count; n++) {
    const path = `part-${Math.floor(n / 100)}/${String(n).padStart(5, '0')}.txt`;
    const file = join(dir, path);
    const content = text(size, vocabulary, random(n + 2));
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, content);
    files.push({ path, file, size, crc: crc32(content) });
  }
  return { dir, files, bytes: count * size };
}

/** Throws unless the folder holds just the files of the tree. */
export async function checkTree(dir: string, tree: Tree): Promise<void> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const found = new Set(
    entries.filter((entry) => entry.isFile()).map((one) => relative(dir, join(one.parentPath, one.name))),
  );
  if (found.size !== tree.files.length) throw new Error(`${dir} has ${found.size} files, not ${tree.files.length}`);
  for (const { path, crc } of tree.files) {
    if (!found.has(path)) throw new Error(`${path} is missing in ${dir}`);
    if (crc32(await readFile(join(dir, path))) !== crc) throw new Error(`${path} in ${dir} is not what was packed`);
  }
}

function text(size: number, vocabulary: readonly string[], next: () => number): Buffer {
  const content = Buffer.allocUnsafe(size);
  let words = 0;
  for (let at = 0; at < size; ) {
    const word = vocabulary[next() % vocabulary.length] ?? '';
    words++;
    const end = words % WORDS_PER_LINE === 0 ? '\n' : ' ';
    at += content.write(word + end, at, Math.min(word.length + 1, size - at), 'latin1');
  }
  return content;
}

function words(next: () => number): readonly string[] {
  const letter = (): string => String.fromCharCode(97 + (next() % 26));
  return Array.from({ length: WORDS }, () => Array.from({ length: 2 + (next() % 9) }, letter).join(''));
}

/** Xorshift: 32 bits a call. */
function random(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
}
