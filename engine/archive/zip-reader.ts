// Reads a zip from a local file: first checks the whole directory, then inflates the bodies and compares them with their
// directory entries (zip-body.ts). For worker threads: small entries are read and inflated with blocking calls.

import { type FileHandle, open } from 'node:fs/promises';
import { rejected } from '../runtime/failure.ts';
import type { ArchiveEntry, ReadOptions } from './archive-entry.ts';
import { archiveFault } from './archive-fault.ts';
import { detectArchive, MAGIC_BYTES } from './archive-kind.ts';
import { EntryNames } from './entry-path.ts';
import { FileWindow } from './file-window.ts';
import { inflatedAhead } from './inflate-ahead.ts';
import { InflateBudget } from './inflate-budget.ts';
import { readBody, readPackedTo, WHOLE_BYTES, type ZipBodies } from './zip-body.ts';
import { type ZipMember, zipMembers } from './zip-directory.ts';

/**
 * The files of the archive in its own order. Fails with `rejected`, naming the entry, for everything that the archive rules
 * refuse; yields nothing unless the whole directory is valid.
 */
export async function* readZip(file: string, options: ReadOptions, signal: AbortSignal): AsyncGenerator<ArchiveEntry> {
  await using zip = await OpenZip.open(file, options, signal);
  yield* zip.entriesAhead();
}

/** A zip with a valid directory. */
export class OpenZip implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #options: ReadOptions;
  readonly #signal: AbortSignal;
  readonly #directory: FileWindow;
  readonly #budget: InflateBudget;
  readonly #bodies: ZipBodies;

  private constructor(handle: FileHandle, options: ReadOptions, signal: AbortSignal) {
    this.#handle = handle;
    this.#options = options;
    this.#signal = signal;
    this.#directory = new FileWindow(handle.fd);
    this.#budget = new InflateBudget(options.limits);
    this.#bodies = { fd: handle.fd, window: new FileWindow(handle.fd), buffers: [], budget: this.#budget };
  }

  /** Fails like {@link readZip}. */
  static async open(file: string, options: ReadOptions, signal: AbortSignal): Promise<OpenZip> {
    signal.throwIfAborted();
    const handle = await open(file, 'r').catch((error: unknown) => {
      throw archiveFault(error, 'the archive', signal);
    });
    try {
      const zip = new OpenZip(handle, options, signal);
      checkStart(zip.#directory.read(0, MAGIC_BYTES));
      await inspectDirectory(zip.#directory, options, signal);
      return zip;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** In the archive's order, once. Several bodies may be read concurrently, until this is disposed of. */
  async *entries(): AsyncGenerator<ArchiveEntry> {
    for await (const member of this.#members()) yield this.#entry(member, undefined);
  }

  /** In the archive's order, once, to be read one after the other; the next entries are inflated meanwhile. */
  async *entriesAhead(): AsyncGenerator<ArchiveEntry> {
    const read = (member: ZipMember, target: Buffer): void => readPackedTo(this.#bodies, member, target);
    for await (const { member, inflated } of inflatedAhead(this.#members(), WHOLE_BYTES, read))
      yield this.#entry(member, inflated);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  #members(): AsyncGenerator<ZipMember> {
    return zipMembers(this.#directory, this.#budget, this.#options.limits.maxEntries, this.#signal);
  }

  #entry(member: ZipMember, inflated: Promise<Buffer> | undefined): ArchiveEntry {
    return { path: member.path, size: member.size, body: readBody(this.#bodies, { member, inflated }, this.#signal) };
  }
}

function checkStart(start: Buffer): void {
  const kind = detectArchive(start);
  if (kind === 'zip') return;
  if (kind === 'empty zip') throw rejected('the archive is empty');
  if (kind === 'split zip') throw rejected('the archive is one part of a split zip; join the parts first');
  throw rejected('the archive is not a zip file');
}

async function inspectDirectory(window: FileWindow, options: ReadOptions, signal: AbortSignal): Promise<void> {
  const budget = new InflateBudget(options.limits);
  const names = new EntryNames();
  let totalBytes = 0;
  for await (const member of zipMembers(window, budget, options.limits.maxEntries, signal, options.notes)) {
    names.add(member.path);
    totalBytes += member.size;
    budget.checkDeclared(member.path, member.size, totalBytes);
    options.inspect?.(member);
  }
  names.finish();
  if (names.count === 0) throw rejected('the archive holds no files');
}
