// The object store as a directory: `objects/{key}` contains the objects, `staging/` the objects that are being written.
//
//   A put:    stage (write, fsync) -> note in the journal -> rename into place -> fsync folders -> release in the journal
//   A remove: note -> unlink -> fsync folder -> release
// The journal records only changes that are announced; other changes skip it, in the same order. A crash between two steps
// leaves a note, which settling compares with the directory. A change that was made is released, one that was not is dropped
// (docs/design/decisions.md#embedded-stack). So no change is lost, and none is announced that did not happen.

import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { ObjectChange } from '../../model/event.ts';
import type { ObjectInfo, ObjectSource, ObjectStore, PutOptions } from '../../ports/object-store.ts';
import { defect, messageOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Clock, deadline } from '../../runtime/time.ts';
import type { ChangeJournal, JournalEntry, PendingEntry } from '../events/postgres-queue.ts';
import { DirectoryReader, demandFolder, objectPath, storeFault } from './directory-store-reader.ts';
import { type StagedObject, Staging } from './directory-store-staging.ts';
import { ObjectTree } from './directory-store-tree.ts';

interface DirectoryStoreOptions {
  /** Created if missing. Its subfolders `objects` and `staging` must be on one file system. */
  readonly path: string;
  readonly journal: ChangeJournal;
  /** Which changes are announced; default all. */
  readonly announces?: (change: ObjectChange) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Keys per round trip to the journal. */
const REMOVE_BATCH = 500;
/** Deadline for recording what was done, independent of the caller's signal. */
const TELL_MS = 10_000;

/** Opens the store, removes unfinished files of crashed processes, and settles their journal entries. */
export async function openDirectoryStore(options: DirectoryStoreOptions, signal: AbortSignal): Promise<DirectoryStore> {
  const objects = join(options.path, 'objects');
  const staging = new Staging(join(options.path, 'staging'), options.clock);
  try {
    await mkdir(objects, { recursive: true, mode: 0o750 });
    await staging.open();
    const swept = await staging.sweep();
    if (swept > 0) options.log.info({ files: swept }, 'removed unfinished objects of crashed processes');
  } catch (error) {
    throw storeFault(error, `object store ${options.path}`);
  }
  const store = new DirectoryStore(options, objects, staging);
  await store.settleOrphans(signal);
  return store;
}

/** Created by {@link openDirectoryStore}. */
export class DirectoryStore extends DirectoryReader implements ObjectStore {
  readonly #options: DirectoryStoreOptions;
  readonly #objects: string;
  readonly #tree: ObjectTree;
  readonly #staging: Staging;
  /** Entries whose outcome the journal did not get; settled with the orphans. */
  #untold: PendingEntry[] = [];

  constructor(options: DirectoryStoreOptions, objects: string, staging: Staging) {
    super(objects);
    this.#options = options;
    this.#objects = objects;
    this.#tree = new ObjectTree(objects);
    this.#staging = staging;
  }

  async put(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<ObjectInfo> {
    let staged: StagedObject | undefined;
    try {
      const target = objectPath(this.#objects, key);
      signal.throwIfAborted();
      staged = await this.#staging.stage(key, source, options, signal);
      await this.#publish(key, target, staged, signal);
      const { size, etag, modified } = staged;
      // The file was moved into place.
      staged = undefined;
      return { key, size, etag, modified };
    } catch (error) {
      if (source instanceof Readable) source.destroy();
      throw storeFault(error, `putting ${key}`);
    } finally {
      if (staged) await this.#staging.discard(staged);
    }
  }

  async remove(keys: readonly string[], signal: AbortSignal): Promise<void> {
    const unique = [...new Set(keys)];
    for (let i = 0; i < unique.length; i += REMOVE_BATCH)
      await this.#removeBatch(unique.slice(i, i + REMOVE_BATCH), signal);
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    try {
      await demandFolder(this.#objects);
      await this.#staging.probe();
    } catch (error) {
      throw transient(`object store ${this.#options.path}: ${messageOf(error)}`, { cause: error });
    }
  }

  /**
   * Compares journal entries of crashed processes, and our own that could not be recorded, with the directory. Releases or
   * drops each. Called at opening, and again when another process crashed or the journal was unavailable.
   */
  async settleOrphans(signal: AbortSignal): Promise<void> {
    const untold = this.#untold;
    this.#untold = [];
    await this.#settle(untold, signal);
    for (let last: number | undefined; ; ) {
      signal.throwIfAborted();
      const orphans = await this.#options.journal.orphans(signal);
      if (orphans.length === 0) return;
      if (orphans[0]?.id === last) throw defect(`the change journal still has entry ${last} after it was settled`);
      last = orphans[0]?.id;
      await this.#settle(orphans, signal);
      this.#options.log.info({ entries: orphans.length }, 'settled changes of crashed processes');
    }
  }

  async #publish(key: string, target: string, staged: StagedObject, signal: AbortSignal): Promise<void> {
    const entries = await this.#note([{ change: { kind: 'created', key }, etag: staged.etag }], signal);
    try {
      signal.throwIfAborted();
      await this.#tree.moveIn(staged.file, target);
    } catch (error) {
      await this.#tell([], entries).catch((cause: unknown) => this.#logUntold(cause));
      throw error;
    }
    try {
      await this.#tree.syncUpwards(dirname(target));
    } catch (error) {
      this.#untold.push(...entries);
      throw error;
    }
    await this.#tell(entries, []);
  }

  async #removeBatch(keys: readonly string[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const found: JournalEntry[] = [];
    for (const key of keys)
      if (await this.head(key, signal)) found.push({ change: { kind: 'removed', key }, etag: undefined });
    if (found.length === 0) return;
    const entries = await this.#note(found, signal);
    const noted = new Map(entries.map((entry) => [entry.change.key, entry]));
    const gone = new Set<PendingEntry>();
    const folders = new Set<string>();
    try {
      try {
        for (const { change } of found) {
          signal.throwIfAborted();
          const file = objectPath(this.#objects, change.key);
          // Another process removed it first and announces the change.
          if (!(await this.#tree.unlink(file))) continue;
          const entry = noted.get(change.key);
          if (entry) gone.add(entry);
          folders.add(await this.#tree.prune(dirname(file)));
        }
      } finally {
        for (const folder of folders) await this.#tree.sync(folder);
      }
    } catch (error) {
      await this.#tell([...gone], entries.filter(isNotIn(gone))).catch((cause: unknown) => this.#logUntold(cause));
      throw storeFault(error, 'removing objects');
    }
    await this.#tell([...gone], entries.filter(isNotIn(gone)));
  }

  /** Notes those of the changes that are announced. */
  async #note(changes: readonly JournalEntry[], signal: AbortSignal): Promise<readonly PendingEntry[]> {
    const { journal, announces = () => true } = this.#options;
    const announced = changes.filter(({ change }) => announces(change));
    if (announced.length === 0) return [];
    const ids = await journal.note(announced, signal);
    return announced.map((entry, i) => ({ ...entry, id: ids[i] as number }));
  }

  /**
   * Releases and drops entries, with a deadline of its own. Entries that cannot be recorded are kept for {@link settleOrphans}.
   */
  async #tell(made: readonly PendingEntry[], unmade: readonly PendingEntry[]): Promise<void> {
    const { journal, clock } = this.#options;
    using limit = deadline(clock, TELL_MS, undefined, () =>
      transient(`no response from the journal within ${TELL_MS} ms`),
    );
    try {
      if (made.length > 0) await journal.release(made.map(idOf), limit.signal);
    } catch (error) {
      this.#untold.push(...made, ...unmade);
      throw error;
    }
    try {
      if (unmade.length > 0) await journal.drop(unmade.map(idOf), limit.signal);
    } catch (error) {
      this.#untold.push(...unmade);
      throw error;
    }
  }

  #logUntold(cause: unknown): void {
    this.#options.log.warn({ err: cause }, 'changes could not be recorded in the journal; settled later');
  }

  async #settle(entries: readonly PendingEntry[], signal: AbortSignal): Promise<void> {
    const made = new Set<PendingEntry>();
    for (const entry of entries) if (await this.#wasMade(entry, signal)) made.add(entry);
    await this.#tell([...made], entries.filter(isNotIn(made)));
  }

  async #wasMade({ change, etag }: PendingEntry, signal: AbortSignal): Promise<boolean> {
    const current = await this.head(change.key, signal);
    return change.kind === 'removed' ? current === undefined : current?.etag === etag;
  }
}

const idOf = (entry: PendingEntry): number => entry.id;

const isNotIn =
  (entries: ReadonlySet<PendingEntry>) =>
  (entry: PendingEntry): boolean =>
    !entries.has(entry);
