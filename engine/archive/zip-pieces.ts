// A stored zip of local files, piece by piece, for several threads: where everything lies follows from the sizes, so pieces
// may be copied in any order. Whoever reads a piece also writes it, while it is near the processor: one thread that reads
// and checks and another that writes take half again as long.
//   cutPieces     what is to be copied (zip-in-pieces.ts hands it to the threads)
//   copyPieces    in a thread: some pieces, and their checksums
//   writeRecords  in a thread: the headers and the directory, once all checksums are known
// What comes out is byte by byte what zip-writer.ts writes. For worker threads: all calls block.

import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { giveBack } from '../runtime/give-back.ts';
import type { PackedFile, WrittenArchive } from './archive-entry.ts';
import { outputFailure } from './archive-output.ts';
import { crc32Combine } from './crc32-combine.ts';
import { tooFew, tooMany } from './source-body.ts';
import { centralRecord, endRecords, localHeader, localHeaderBytes, needsZip64, type ZipRecord } from './zip-records.ts';

/** Bytes of a file that lie together in the archive; none of an empty file. */
export interface ZipPiece extends PackedFile {
  /** In the file. */
  readonly from: number;
  readonly bytes: number;
  /** In the archive. */
  readonly at: number;
}

export interface CopyOrder {
  readonly target: string;
  readonly pieces: readonly ZipPiece[];
}

export interface RecordsOrder {
  readonly target: string;
  readonly files: readonly PackedFile[];
  /** Of the pieces of all files, in order. */
  readonly crcs: readonly number[];
  /** That they were cut to. */
  readonly pieceBytes: number;
}

/** Read, checked and written in one go. */
const COPY_BYTES = 256 * 1024;
/** Of the directory, written in one go. */
const RECORDS_AT_ONCE = 1_000;

/** Lists of pieces of up to `pieceBytes`, which together have no more either. */
export function* cutPieces(files: readonly PackedFile[], pieceBytes: number): Generator<readonly ZipPiece[]> {
  let pieces: ZipPiece[] = [];
  let sum = 0;
  for (const piece of allPieces(files, pieceBytes)) {
    if (pieces.length > 0 && sum + piece.bytes > pieceBytes) {
      yield pieces;
      [pieces, sum] = [[], 0];
    }
    pieces.push(piece);
    sum += piece.bytes;
  }
  if (pieces.length > 0) yield pieces;
}

/** The checksum of each piece. A file longer or shorter than its size is a defect of the caller. */
export function copyPieces({ target, pieces }: CopyOrder): readonly number[] {
  return writing(target, (output) => {
    const buffer = Buffer.allocUnsafeSlow(COPY_BYTES);
    try {
      return pieces.map((piece) => copyPiece(piece, output, buffer));
    } finally {
      giveBack(buffer);
    }
  });
}

export function writeRecords({ target, files, crcs, pieceBytes }: RecordsOrder): WrittenArchive {
  return writing(target, (output) => {
    const central: Buffer[] = [];
    const next = crcs.values();
    let at = 0;
    for (const draft of drafts(files)) {
      const record = { ...draft, crc: crcOf(draft.size, pieceBytes, next) };
      const header = localHeader(record);
      writeAll(output, header, at);
      central.push(centralRecord(record));
      at += header.length + draft.size;
    }
    const start = at;
    for (let from = 0; from < central.length; from += RECORDS_AT_ONCE) {
      const some = Buffer.concat(central.slice(from, from + RECORDS_AT_ONCE));
      writeAll(output, some, at);
      at += some.length;
    }
    const end = endRecords(central.length, start, at - start, false);
    writeAll(output, end, at);
    return { bytes: at + end.length, entries: central.length };
  });
}

/** Their checksums are not known yet. */
function* drafts(files: readonly PackedFile[]): Generator<ZipRecord> {
  let offset = 0;
  for (const { path, size } of files) {
    const zip64 = needsZip64(size, offset);
    const draft = { name: Buffer.from(path), modified: undefined, crc: 0, size, packedSize: size, offset, zip64 };
    yield { ...draft, deflated: false };
    offset += localHeaderBytes(draft) + size;
  }
}

function* allPieces(files: readonly PackedFile[], pieceBytes: number): Generator<ZipPiece> {
  const every = files.values();
  for (const draft of drafts(files)) {
    const { path, file, size } = every.next().value as PackedFile;
    const body = draft.offset + localHeaderBytes(draft);
    let from = 0;
    do {
      const bytes = Math.min(pieceBytes, size - from);
      yield { path, file, size, from, bytes, at: body + from };
      from += bytes;
    } while (from < size);
  }
}

/** Of a file of that size: takes the checksums of its pieces. */
function crcOf(size: number, pieceBytes: number, crcs: Iterator<number>): number {
  let crc: number = crcs.next().value;
  for (let done = pieceBytes; done < size; done += pieceBytes)
    crc = crc32Combine(crc, crcs.next().value, Math.min(pieceBytes, size - done));
  return crc;
}

function copyPiece(piece: ZipPiece, output: number, buffer: Buffer): number {
  const { file, size, from, bytes, at } = piece;
  const input = openSync(file, 'r');
  try {
    let crc = 0;
    for (let done = 0; done < bytes; ) {
      const count = readSync(input, buffer, 0, Math.min(buffer.length, bytes - done), from + done);
      if (count === 0) throw tooFew(piece, fstatSync(input).size);
      const read = buffer.subarray(0, count);
      crc = crc32(read, crc);
      writeAll(output, read, at + done);
      done += count;
    }
    if (from + bytes === size && readSync(input, buffer, 0, 1, size) > 0) throw tooMany(piece);
    return crc;
  } finally {
    closeSync(input);
  }
}

function writeAll(output: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(output, bytes, done, bytes.length - done, at + done);
}

function writing<Result>(target: string, write: (output: number) => Result): Result {
  try {
    const output = openSync(target, 'r+');
    try {
      return write(output);
    } finally {
      closeSync(output);
    }
  } catch (error) {
    throw outputFailure(target, error);
  }
}
