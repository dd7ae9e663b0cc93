// The object store as a directory: `objects/{key}` contains the objects, `staging/` the objects that are being written.
//
//   A put:     stage (write, fsync) -> note in the journal -> rename into place -> fsync folders -> release in the journal
//   A remove:  note -> unlink -> fsync folders -> release
//   A discard: unlink
// Several objects take each step together. The journal records only changes that are announced; other changes skip it, in the
// same order. A crash between two steps leaves a note, which settling compares with the directory. A change that was made is
// released, one that was not is dropped (docs/design/decisions.md#embedded-stack). So no change is lost, and none is announced
// that did not happen.

import { dirname, join } from 'node:path';
import type { ObjectChange } from '../../model/event.ts';
import { demandDifferentKeys } from '../../model/object-key.ts';
import type {
  NewObject,
  ObjectInfo,
  ObjectSource,
  ObjectStore,
  PutAllOptions,
  PutOptions,
  RemoveOptions,
} from '../../ports/object-store.ts';
import { defect, messageOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Clock, deadline } from '../../runtime/time.ts';
import type { ChangeJournal, JournalEntry, PendingEntry } from '../events/postgres-queue.ts';
import { DirectoryReader, demandFolder, objectPath, storeFault } from './directory-store-reader.ts';
import { endSources, type StagedObject, Staging } from './directory-store-staging.ts';
import { ObjectTree } from './directory-store-tree.ts';
import type { WriteHold } from './write-hold.ts';

interface DirectoryStoreOptions {
  /** Created if missing. Its subfolders `objects` and `staging` must be on one file system. */
  readonly path: string;
  readonly journal: ChangeJournal;
  /** Which changes are announced; default all. */
  readonly announces?: (change: ObjectChange) => boolean;
  /** Objects that their caller hands over are not announced. Only if no broker carries the changes. */
  readonly honorsHandOver?: boolean;
  /** Changes wait while it is held. */
  readonly hold?: Pick<WriteHold, 'enter'>;
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
  const tree = new ObjectTree(objects);
  try {
    await tree.open();
    await staging.open();
    const swept = await staging.sweep();
    if (swept > 0) options.log.info({ files: swept }, 'removed unfinished objects of crashed processes');
  } catch (error) {
    throw storeFault(error, `object store ${options.path}`);
  }
  const store = new DirectoryStore(options, objects, tree, staging);
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

  constructor(options: DirectoryStoreOptions, objects: string, tree: ObjectTree, staging: Staging) {
    super(objects);
    this.#options = options;
    this.#objects = objects;
    this.#tree = tree;
    this.#staging = staging;
  }

  async put(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<ObjectInfo> {
    const [info] = await this.putAll([{ key, source, options }], {}, signal);
    return info as ObjectInfo;
  }

  async putAll(
    objects: readonly NewObject[],
    { alsoDurable = [] }: PutAllOptions,
    signal: AbortSignal,
  ): Promise<readonly ObjectInfo[]> {
    let staged: readonly StagedObject[] = [];
    const keys = objects.map(({ key }) => key);
    try {
      demandDifferentKeys(keys);
      signal.throwIfAborted();
      staged = await this.#staging.stageAll(objects, signal);
      await this.#publish(objects, staged, alsoDurable, signal);
      return staged.map(({ size, etag, modified }, i) => ({ key: keys[i] as string, size, etag, modified }));
    } catch (error) {
      endSources(objects);
      // Of those that were moved into place there is nothing to discard.
      for (const object of staged) await this.#staging.discard(object);
      throw storeFault(error, `putting ${keys.join(', ')}`);
    }
  }

  async remove(keys: readonly string[], signal: AbortSignal, { handedOver }: RemoveOptions = {}): Promise<void> {
    const { announces = () => true, honorsHandOver = false } = this.#options;
    const isAnnounced = handedOver && honorsHandOver ? () => false : announces;
    const unique = [...new Set(keys)];
    for (let i = 0; i < unique.length; i += REMOVE_BATCH)
      await this.#removeBatch(unique.slice(i, i + REMOVE_BATCH), isAnnounced, signal);
  }

  async discard(keys: readonly string[], signal: AbortSignal): Promise<void> {
    using _ = await this.#options.hold?.enter(signal);
    const gone = new Set<string>();
    try {
      await this.#unlink(new Set(keys), gone, signal).finally(() => this.#prune(gone));
    } catch (error) {
      throw storeFault(error, 'removing objects');
    }
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    try {
      await demandFolder(this.#objects);
      await this.#staging.probe();
    } catch (error) {
      throw transient(`object store ${this.#options.path}: ${messageOf(error)}`, { cause: error, lack: 'storage' });
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

  async #publish(
    objects: readonly NewObject[],
    staged: readonly StagedObject[],
    alsoDurable: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { honorsHandOver = false, hold } = this.#options;
    using _ = await hold?.enter(signal);
    const folders = new Set(alsoDurable.map((key) => this.#folderOf(key)));
    const changes = objects.flatMap(({ key, options }, i): readonly JournalEntry[] =>
      honorsHandOver && options?.handedOver ? [] : [{ change: { kind: 'created', key }, etag: staged[i]?.etag }],
    );
    const entries = await this.#note(changes, signal);
    const moved = new Set<string>();
    try {
      signal.throwIfAborted();
      for (const [i, { key, options }] of objects.entries()) {
        await this.#tree.moveIn((staged[i] as StagedObject).file, objectPath(this.#objects, key));
        moved.add(key);
        if (options?.durable !== false) folders.add(this.#folderOf(key));
      }
      await this.#tree.makeDurable(folders);
    } catch (error) {
      // Whether what was moved lasts is decided when it is settled.
      this.#untold.push(...entries.filter(isOneOf(moved)));
      await this.#tell([], entries.filter(isOneOf(moved, false))).catch((cause: unknown) => this.#logUntold(cause));
      throw error;
    }
    await this.#tell(entries, []);
  }

  async #removeBatch(
    keys: readonly string[],
    announces: (change: ObjectChange) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    using _ = await this.#options.hold?.enter(signal);
    const present: string[] = [];
    const found: JournalEntry[] = [];
    for (const key of keys) {
      const change = { kind: 'removed', key } as const;
      const isAnnounced = announces(change);
      // The journal must not hear of an absent object. Otherwise, the removal itself tells whether there was one.
      if (isAnnounced && !(await this.head(key, signal))) continue;
      present.push(key);
      if (isAnnounced) found.push({ change, etag: undefined });
    }
    const entries = await this.#note(found, signal);
    const gone = new Set<string>();
    try {
      try {
        await this.#unlink(present, gone, signal);
      } finally {
        for (const folder of await this.#prune(gone)) await this.#tree.sync(folder);
      }
    } catch (error) {
      await this.#tell(entries.filter(isOneOf(gone)), entries.filter(isOneOf(gone, false))).catch((cause: unknown) =>
        this.#logUntold(cause),
      );
      throw storeFault(error, 'removing objects');
    }
    await this.#tell(entries.filter(isOneOf(gone)), entries.filter(isOneOf(gone, false)));
  }

  /** @param gone gets the keys that were removed; one that was absent was removed by another process, which announces it */
  async #unlink(keys: Iterable<string>, gone: Set<string>, signal: AbortSignal): Promise<void> {
    for (const key of keys) {
      signal.throwIfAborted();
      if (await this.#tree.unlink(objectPath(this.#objects, key))) gone.add(key);
    }
  }

  /** Removes the folders of these keys that are empty. Returns the folders that lost an entry and remain. */
  async #prune(gone: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const remaining = new Set<string>();
    for (const folder of new Set([...gone].map((key) => this.#folderOf(key))))
      remaining.add(await this.#tree.prune(folder));
    return remaining;
  }

  #folderOf(key: string): string {
    return dirname(objectPath(this.#objects, key));
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
    const made: PendingEntry[] = [];
    const unmade: PendingEntry[] = [];
    for (const entry of entries) ((await this.#wasMade(entry, signal)) ? made : unmade).push(entry);
    await this.#tell(made, unmade);
  }

  async #wasMade({ change, etag }: PendingEntry, signal: AbortSignal): Promise<boolean> {
    const current = await this.head(change.key, signal);
    return change.kind === 'removed' ? current === undefined : current?.etag === etag;
  }
}

const idOf = (entry: PendingEntry): number => entry.id;

const isOneOf =
  (keys: ReadonlySet<string>, wanted = true) =>
  ({ change }: PendingEntry): boolean =>
    keys.has(change.key) === wanted;
