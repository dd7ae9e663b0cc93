// Writes a tar.gz to a local file (POSIX ustar, and pax for names that do not fit): plain files without an owner, mode 0644. For
// worker threads: local files are read with blocking calls. The bytes equal those of tar-stream, which would bring ten packages
// with programs for another runtime for the sake of a header.

import { createGzip } from 'node:zlib';
import type { ArchiveSource, WrittenArchive } from './archive-entry.ts';
import { sourceChunks, writeArchive } from './archive-output.ts';
import { padding, RECORD_BYTES } from './tar-entries.ts';
import { ZLIB_CHUNK_BYTES, zlibChunks } from './zlib-chunks.ts';

interface TarFile {
  readonly path: string;
  readonly size: number;
  readonly modified: Date;
}

const BLOCK_BYTES = 128 * 1024;
/** Zeros at the end of a tar. */
const END_BYTES = 2 * RECORD_BYTES;
const MAX_NAME = 100;
const MAX_PREFIX = 155;
const MAX_OCTAL_SIZE = 0o77777777777;

/**
 * Creates or replaces `target`; removes it when anything fails. Files only, mode 0644; readers create the folders. A body
 * longer or shorter than its size is a defect of the caller.
 */
export async function writeTarGz(
  target: string,
  sources: Iterable<ArchiveSource> | AsyncIterable<ArchiveSource>,
  { level }: { readonly level: number },
  signal: AbortSignal,
): Promise<WrittenArchive> {
  signal.throwIfAborted();
  return writeArchive(target, async (output) => {
    let entries = 0;
    async function* tar(): AsyncGenerator<Uint8Array> {
      for await (const source of sources) {
        signal.throwIfAborted();
        const { path, size, modified = new Date(0) } = source;
        yield tarHeader({ path, size, modified });
        yield* sourceChunks(source, signal);
        yield Buffer.alloc(padding(size));
        entries++;
      }
      yield Buffer.alloc(END_BYTES);
    }
    for await (const chunk of zlibChunks(createGzip({ level, chunkSize: ZLIB_CHUNK_BYTES }), inBlocks(tar())))
      await output.append(chunk);
    return { bytes: output.position, entries };
  });
}

/** The same bytes in larger pieces, since each piece is a trip to the thread that deflates. A piece is valid until the next. */
async function* inBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let filled = 0;
  for await (const chunk of chunks)
    for (let rest = chunk; rest.length > 0; ) {
      const part = rest.subarray(0, BLOCK_BYTES - filled);
      block.set(part, filled);
      filled += part.length;
      rest = rest.subarray(part.length);
      if (filled < BLOCK_BYTES) continue;
      yield block;
      filled = 0;
    }
  if (filled > 0) yield block.subarray(0, filled);
}

/** One record, or three: a pax header, its content, and the file's. */
export function tarHeader({ path, size, modified }: TarFile): Buffer {
  const names = splitName(path);
  if (names) return header({ ...names, size, modified, type: '0' });
  const pax = paxLine('path', path);
  const name = { name: 'PaxHeader', prefix: '', modified };
  return Buffer.concat([
    header({ ...name, size: pax.length, type: 'x' }),
    pax,
    Buffer.alloc(padding(pax.length)),
    header({ ...name, size, type: '0' }),
  ]);
}

export interface AnyTarEntry extends TarFile {
  readonly type: 'file' | 'folder' | 'link';
  /** Permissions. */
  readonly mode: number;
  /** Further values of the pax header. Readers prefer them to the fields of the record. */
  readonly pax: Readonly<Record<string, string>>;
}

const TYPES = { file: '0', link: '2', folder: '5' } as const;

/** A pax header, its content, and the record of an entry of any type. */
export function anyTarHeader({ path, size, modified, type, mode, pax: values }: AnyTarEntry): Buffer {
  const pax = Buffer.concat(Object.entries({ path, ...values }).map(([key, value]) => paxLine(key, value)));
  const name = { name: 'PaxHeader', prefix: '', modified };
  return Buffer.concat([
    header({ ...name, size: pax.length, type: 'x' }),
    pax,
    Buffer.alloc(padding(pax.length)),
    header({ ...name, size, type: TYPES[type], mode }),
  ]);
}

/** Only for ASCII: moves folders to the prefix until the name fits; undefined when it does not. */
function splitName(path: string): { readonly name: string; readonly prefix: string } | undefined {
  if (Buffer.byteLength(path) !== path.length) return undefined;
  if (path.length <= MAX_NAME) return { name: path, prefix: '' };
  const slash = path.indexOf('/', path.length - MAX_NAME - 1);
  if (slash === -1 || slash > MAX_PREFIX) return undefined;
  return { name: path.slice(slash + 1), prefix: path.slice(0, slash) };
}

/** `LENGTH KEY=VALUE\n`, where the length includes its own digits. */
function paxLine(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  if (String(length).length > String(bytes).length) length++;
  return Buffer.from(length + rest);
}

function header(file: {
  readonly name: string;
  readonly prefix: string;
  readonly size: number;
  readonly modified: Date;
  readonly type: '0' | '2' | '5' | 'x';
  readonly mode?: number;
}): Buffer {
  const record = Buffer.alloc(RECORD_BYTES);
  record.write(file.name, 0, 'latin1');
  record.write(`${octal(file.mode ?? 0o644, 6)} \0`, 100, 'latin1');
  record.write('000000 \0' + '000000 \0', 108, 'latin1');
  writeSize(record, file.size);
  record.write(`${octal(Math.trunc(file.modified.getTime() / 1000) | 0, 11)} `, 136, 'latin1');
  record.write(file.type, 156, 'latin1');
  record.write('ustar\0' + '00', 257, 'latin1');
  record.write('000000 \0' + '000000 \0', 329, 'latin1');
  record.write(file.prefix, 345, 'latin1');
  record.write(`${octal(checksum(record), 6)} `, 148, 'latin1');
  return record;
}

/** Binary from 8 GiB on, a format that GNU tar introduced. */
function writeSize(record: Buffer, size: number): void {
  if (size <= MAX_OCTAL_SIZE) {
    record.write(`${octal(size, 11)} `, 124, 'latin1');
    return;
  }
  record.writeUInt8(0x80, 124);
  record.writeUIntBE(size, 130, 6);
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

/** The checksum's own field counts as blanks. */
function checksum(record: Buffer): number {
  let sum = 8 * 0x20;
  for (const [at, byte] of record.entries()) if (at < 148 || at >= 156) sum += byte;
  return sum;
}
