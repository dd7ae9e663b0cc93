// Thread side of the upload lane: turns the raw files of an upload into one clean zip
// (docs/design/decisions.md#create-and-the-upload-lane). A single archive is repacked entry by entry, with its folders. Any
// other files are zipped as they are.

import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import {
  type ArchiveEntry,
  ArchiveNotes,
  type ArchiveSource,
  archiveByName,
  detectArchive,
  MAGIC_BYTES,
  type ReadOptions,
  type WrittenArchive,
} from '../../engine/archive/archive-entry.ts';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import { EntryNames } from '../../engine/archive/entry-path.ts';
import { readTarGz } from '../../engine/archive/tar-reader.ts';
import { readZip } from '../../engine/archive/zip-reader.ts';
import { writeZip } from '../../engine/archive/zip-writer.ts';
import { digested, type StoredArchive, sha256Field } from '../../engine/model/digest.ts';
import { isDesktopJunk, reservedNameFault } from '../../engine/model/file-name.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import { type DatasetAddress, fileKey } from '../../engine/model/object-key.ts';
import type { DirectBody, OpenObject } from '../../engine/ports/object-store.ts';
import { Failure, rejected, transient } from '../../engine/runtime/failure.ts';
import { changedWhileRead, type ObjectFile, objectFile, type TaskContext } from './task-map.ts';

export interface PackUploadInput {
  readonly at: DatasetAddress;
  /** The received files, under raw/. One with a digest is refused if it has another. */
  readonly files: readonly FileEntry[];
  /** Names of desktop junk files that were discarded on receipt. */
  readonly leftOut?: readonly string[] | undefined;
  /** Exclusive to this task; exists; the caller removes it. */
  readonly scratchDir: string;
  readonly limits: ArchiveLimits;
  /** Each starts with a dot; empty = any. */
  readonly allowedFileExtensions: readonly string[];
}

export interface PackUploadOutput {
  /** Path in the scratch folder. */
  readonly zipFile: string;
  /** The zip's entries, with sizes before compression and digests. */
  readonly files: readonly FileEntry[];
  readonly zip: StoredArchive;
  /** Bytes received. */
  readonly rawBytes: number;
  /** Notes for the owner, one sentence each: files left out, names decoded differently. */
  readonly notes: readonly string[];
  /** The received files that the zip has as they are, in its order. None if they came in an archive. */
  readonly plain: readonly ObjectFile[];
}

/** Large files that came as files are worth keeping as files (../plugin-host/received-files.ts). */
export const KEPT_FROM_BYTES = 8 * 1024 * 1024;

type PackContext = Pick<TaskContext, 'store' | 'signal'>;

const LEVEL = 6;
const READ_BYTES = 256 * 1024;
const SPOOL_BYTES = 1024 * 1024;

/** Fails with `rejected` and a sentence for the user that names the file and entry, when the upload itself is at fault. */
export async function packUpload(input: PackUploadInput, context: PackContext): Promise<PackUploadOutput> {
  const raw = new RawFiles(input, context);
  const [first, ...others] = raw.files;
  if (!first)
    throw rejected(`the upload contains no files${input.files.length > 0 ? ' other than desktop metadata files' : ''}`);
  const kind = others.length === 0 ? archiveByName(first.name) : undefined;
  const packed: FileEntry[] = [];
  const entries = kind ? archiveEntries(kind, first.name, raw) : plainFiles(raw);
  const zipFile = join(input.scratchDir, 'import-ready.zip');
  const options = { level: LEVEL, syncEarly: true, digests: true } as const;
  let written: WrittenArchive;
  try {
    written = await writeZip(zipFile, noting(entries, packed), options, context.signal);
  } catch (error) {
    if (!kind || !(error instanceof Failure) || error.kind !== 'rejected') throw error;
    throw rejected(`${first.name}: ${error.message}`, { cause: error });
  }
  const plain = kind ? [] : raw.opened;
  // If another attempt has packed them meanwhile, scripts may have got the files that we have read.
  if (raw.bytes >= KEPT_FROM_BYTES) for (const file of plain) await raw.demandUnchanged(file);
  const { files, zip } = digested(packed, written);
  const rawBytes = raw.bytes;
  await (kind ? demandArchiveDigest(first, raw) : demandDigests(raw.files, files));
  return { zipFile, files, zip, rawBytes, notes: raw.notes.lines(), plain };
}

function demandDigests(received: readonly FileEntry[], packed: readonly FileEntry[]): void {
  for (const [i, { name, sha256 }] of received.entries())
    if (sha256 !== undefined && packed[i]?.sha256 !== sha256) throw otherDigest(name, sha256, packed[i]?.sha256);
}

/** An archive is unpacked without its digest, so it is read once more. Few uploads come with a digest that is still unchecked. */
async function demandArchiveDigest({ name, sha256 }: FileEntry, raw: RawFiles): Promise<void> {
  if (sha256 === undefined) return;
  const hash = createHash('sha256');
  for await (const chunk of (await raw.open(name)).body) hash.update(chunk);
  const computed = hash.digest('hex');
  if (computed !== sha256) throw otherDigest(name, sha256, computed);
}

const otherDigest = (name: string, sent: string, computed: string | undefined): Failure =>
  rejected(
    `${name}: header Repr-Digest of its upload says ${sha256Field(sent)}, but the file has ${sha256Field(computed ?? '')}`,
  );

async function* noting(entries: AsyncIterable<ArchiveSource>, files: FileEntry[]): AsyncGenerator<ArchiveSource> {
  for await (const entry of entries) {
    files.push({ name: entry.path, size: entry.size });
    yield entry;
  }
}

async function* plainFiles(raw: RawFiles): AsyncGenerator<ArchiveSource> {
  const { files } = raw;
  const { limits } = raw.input;
  const names = new EntryNames();
  for (const file of files) {
    raw.checkName(file.name);
    names.add(file.name);
  }
  for (const file of files) {
    const { info, body, direct } = await raw.open(file.name);
    try {
      if (info.size > limits.maxFileBytes)
        throw rejected(`${file.name} has ${info.size} bytes; at most ${limits.maxFileBytes} are allowed per file`);
      if (raw.bytes > limits.maxTotalBytes)
        throw rejected(
          `the files have more than the ${limits.maxTotalBytes} bytes allowed, counted up to ${file.name}`,
        );
      yield { path: file.name, size: info.size, body: direct ? chunksOf(direct) : body };
    } finally {
      body.destroy();
    }
  }
}

/** In one buffer: a stream allocates one for each chunk, and the collector is late to free them. */
async function* chunksOf({ bytes, fill }: DirectBody): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, bytes));
  for (let at = 0; at < bytes; at += buffer.length) {
    const chunk = buffer.subarray(0, bytes - at);
    await fill(chunk, at);
    yield chunk;
  }
}

async function* archiveEntries(kind: 'zip' | 'tar.gz', name: string, raw: RawFiles): AsyncGenerator<ArchiveEntry> {
  await checkMagic(kind, name, raw);
  const inspect = ({ path }: { path: string }): void => raw.checkName(path);
  const options = { limits: raw.input.limits, notes: raw.notes, inspect };
  yield* kind === 'zip' ? zipEntries(name, raw, options) : tarEntries(name, raw, options);
}

/** A zip's directory is at its end, so we read it where the store keeps it, or from a local copy. */
async function* zipEntries(name: string, raw: RawFiles, options: ReadOptions): AsyncGenerator<ArchiveEntry> {
  const { signal } = raw.context;
  const stored = await raw.openLocally(name);
  if (stored) {
    yield* readZip(stored.file, options, signal);
    return raw.demandUnchanged(stored);
  }
  const copy = join(raw.input.scratchDir, 'upload.zip');
  try {
    const { body } = await raw.open(name);
    await pipeline(body, createWriteStream(copy, { highWaterMark: SPOOL_BYTES }), { signal });
    yield* readZip(copy, options, signal);
  } finally {
    await rm(copy, { force: true });
  }
}

async function* tarEntries(name: string, raw: RawFiles, options: ReadOptions): AsyncGenerator<ArchiveEntry> {
  const { body } = await raw.open(name);
  yield* readTarGz(body, options, raw.context.signal);
}

/** The name says that it is an archive. If the first bytes disagree, we tell the user instead of packing the file as it is. */
async function checkMagic(kind: 'zip' | 'tar.gz', name: string, raw: RawFiles): Promise<void> {
  const start = detectArchive(await raw.start(name));
  if (kind === 'zip' ? start !== undefined && start !== 'gzip' : start === 'gzip') return;
  throw rejected(`its name says ${kind} archive, but its content is not one`);
}

/** The files under raw/ and the rules that each must satisfy. */
class RawFiles {
  readonly input: PackUploadInput;
  readonly context: PackContext;
  readonly #extensions: readonly string[];
  readonly notes = new ArchiveNotes();
  /** Without desktop junk files. */
  readonly files: readonly FileEntry[];
  /** The files opened so far, and their bytes. */
  readonly opened: ObjectFile[] = [];
  bytes = 0;

  constructor(input: PackUploadInput, context: PackContext) {
    this.input = input;
    this.context = context;
    this.files = input.files.filter(({ name }) => !isDesktopJunk(name));
    for (const name of [...(input.leftOut ?? []), ...input.files.map((file) => file.name)])
      if (isDesktopJunk(name)) this.notes.leftOut(name);
    this.#extensions = input.allowedFileExtensions.map((extension) => extension.toLowerCase());
  }

  async open(name: string): Promise<OpenObject> {
    const opened = await this.#get(name, undefined);
    this.bytes += opened.info.size;
    this.opened.push(objectFile(opened.info, name));
    return opened;
  }

  /** Undefined if the store is elsewhere. If it is unchanged when it was read, it is the object that was read. */
  async openLocally(name: string): Promise<(ObjectFile & { readonly file: string }) | undefined> {
    const { store, signal } = this.context;
    const key = fileKey(this.input.at, 'raw', name);
    const file = store.localFile?.(key);
    if (file === undefined) return undefined;
    const info = await store.head(key, signal);
    if (!info) throw gone(key);
    this.bytes += info.size;
    return { ...objectFile(info, name), file };
  }

  async demandUnchanged({ key, etag }: ObjectFile): Promise<void> {
    const info = await this.context.store.head(key, this.context.signal);
    if (info?.etag !== etag) throw changedWhileRead(key);
  }

  /** The first few bytes. */
  async start(name: string): Promise<Uint8Array> {
    const key = fileKey(this.input.at, 'raw', name);
    const info = await this.context.store.head(key, this.context.signal);
    if (info?.size === 0) throw rejected('it is empty');
    const to = Math.min(MAGIC_BYTES, info?.size ?? MAGIC_BYTES) - 1;
    return buffer((await this.#get(name, { from: 0, to })).body);
  }

  checkName(path: string): void {
    const reserved = reservedNameFault(path);
    if (reserved) throw rejected(`'${path}' ${reserved}`);
    const lower = path.toLowerCase();
    if (this.#extensions.length === 0 || this.#extensions.some((extension) => lower.endsWith(extension))) return;
    const allowed = this.input.allowedFileExtensions.join(', ');
    throw rejected(`'${path}' has a file extension that this data type does not allow; allowed: ${allowed}`);
  }

  async #get(name: string, range: { readonly from: number; readonly to: number } | undefined): Promise<OpenObject> {
    const { store, signal } = this.context;
    const key = fileKey(this.input.at, 'raw', name);
    const opened = await store.get(key, range, signal);
    if (!opened) throw gone(key);
    return opened;
  }
}

/** It existed when the upload was accepted, so it was removed since. The next attempt finds the dataset's new state. */
const gone = (key: string): Failure => transient(`object ${key} no longer exists`);
