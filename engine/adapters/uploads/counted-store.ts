// The installer's object store, which counts every byte that is stored for an owner. A put is counted before it is stored, and
// rejected when it exceeds the owner's quota. A removal is subtracted. Files under raw/ are counted by the uploads
// (ports/uploads.ts), and flags are empty.
//
// A process that crashes in between leaves entries that count too much; `sweep` recounts them.

import { Readable } from 'node:stream';
import { type DatasetAddress, datasetPrefix, demandDifferentKeys } from '../../model/object-key.ts';
import type {
  NewObject,
  ObjectInfo,
  ObjectSource,
  ObjectStore,
  PutAllOptions,
  PutOptions,
  RemoveOptions,
  StoredObject,
} from '../../ports/object-store.ts';
import type { HeldObject, KeptObject, SettledObject, StoredBytes } from '../../ports/storage-room.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Clock, deadline } from '../../runtime/time.ts';
import { countedObject, keyOf, namesByDataset, sharedDataset, unsettled } from './counted-objects.ts';
import { PutRoom } from './put-room.ts';

interface CountedStoreOptions {
  /** Quota per owner, in bytes. */
  readonly quotaBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Deadline for recording the outcome of an object. Independent of the caller's signal. */
const SETTLE_MS = 10_000;
/** How often concurrent changes of one object are retried; after that the sweep handles it. */
const LOOKS = 5;

export class CountedStore implements ObjectStore {
  readonly #store: ObjectStore;
  readonly #kept: StoredBytes;
  readonly #options: CountedStoreOptions;
  /** Objects that are being changed. Their entries are held, and are not leftovers. */
  readonly #changing = new Set<KeptObject>();

  constructor(store: ObjectStore, kept: StoredBytes, options: CountedStoreOptions) {
    this.#store = store;
    this.#kept = kept;
    this.#options = options;
  }

  get: ObjectStore['get'] = (...args) => this.#store.get(...args);
  head: ObjectStore['head'] = (...args) => this.#store.head(...args);
  list: ObjectStore['list'] = (...args) => this.#store.list(...args);
  pages: ObjectStore['pages'] = (...args) => this.#store.pages(...args);
  probe: ObjectStore['probe'] = (...args) => this.#store.probe(...args);

  async put(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<ObjectInfo> {
    const [info] = await this.putAll([{ key, source, options }], {}, signal);
    return info as ObjectInfo;
  }

  async putAll(
    objects: readonly NewObject[],
    options: PutAllOptions,
    signal: AbortSignal,
  ): Promise<readonly StoredObject[]> {
    try {
      demandDifferentKeys(objects.map(({ key }) => key));
      const counted = objects.flatMap(({ key }) => countedObject(key) ?? []);
      const at = sharedDataset(counted);
      if (!at) return await this.#store.putAll(objects, options, signal);
      return await this.#whileChanging(counted, () => this.#putCounted(at, objects, options, signal));
    } catch (error) {
      for (const { source } of objects) if (source instanceof Readable) source.destroy();
      throw error;
    }
  }

  remove(keys: readonly string[], signal: AbortSignal, options?: RemoveOptions): Promise<void> {
    const remove = () => this.#store.remove(keys, signal, options);
    return options?.forgotten ? remove() : this.#removeCounted(keys, remove, signal);
  }

  discard(keys: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#removeCounted(keys, () => this.#store.discard(keys, signal), signal);
  }

  /**
   * Recounts what crashed processes left, and what was never counted. Returns the number of datasets. Settles what this process
   * still holds although it is not changing it: the database did not respond, or whoever was to settle it did not.
   */
  async sweep(signal: AbortSignal): Promise<number> {
    const held = await this.#kept.held(signal);
    const changing = new Set([...this.#changing].map(keyOf));
    for (const object of held) if (!changing.has(keyOf(object))) await this.#look(object);
    let swept = 0;
    for (;;) {
      const stale = await this.#kept.stale(signal);
      for (const at of stale) {
        await this.#recount(at, signal);
        swept++;
      }
      if (stale.length === 0) return swept;
    }
  }

  async #recount(at: DatasetAddress, signal: AbortSignal): Promise<void> {
    const before = await this.#kept.snapshot(at, signal);
    const prefix = datasetPrefix(at);
    const listed: { readonly name: string; readonly bytes: number }[] = [];
    for await (const { key, size } of this.#store.list(prefix, {}, signal))
      if (countedObject(key)) listed.push({ name: key.slice(prefix.length), bytes: size });
    await this.#kept.recount(at, before, listed, signal);
  }

  async #putCounted(
    at: DatasetAddress,
    objects: readonly NewObject[],
    options: PutAllOptions,
    signal: AbortSignal,
  ): Promise<readonly StoredObject[]> {
    const room = new PutRoom(at, this.#kept, this.#options.quotaBytes);
    const stored: StoredObject[] = [];
    try {
      const given = await room.reserve(objects, signal);
      for (const info of await this.#store.putAll(given, options, signal)) {
        const turn = room.turnOf(info.key);
        stored.push(turn === undefined ? info : { ...info, turn });
      }
    } catch (error) {
      const reason = room.refusal ?? error;
      await this.#lookAll(await room.held());
      throw reason;
    }
    if (options.settle === 'by caller') return stored;
    const left = unsettled(stored);
    if (left) await this.#settle(left.at, left.objects);
    return stored.map(({ turn: _settled, ...info }) => info);
  }

  async #removeCounted(keys: readonly string[], remove: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const held: { readonly at: DatasetAddress; readonly objects: readonly HeldObject[] }[] = [];
    for (const [at, names] of namesByDataset(keys)) {
      const objects = await this.#kept.hold(at, names, signal);
      if (objects.length > 0) held.push({ at, objects });
    }
    const changing = held.flatMap(({ at, objects }) => objects.map(({ name }) => ({ ...at, name })));
    await this.#whileChanging(changing, async () => {
      try {
        await remove();
      } catch (error) {
        await this.#lookAll(changing);
        throw error;
      }
      for (const { at, objects } of held) {
        const gone = objects.map((object) => ({ ...object, bytes: undefined }));
        await this.#settle(at, gone);
      }
    });
  }

  async #whileChanging<Result>(objects: readonly KeptObject[], change: () => Promise<Result>): Promise<Result> {
    for (const object of objects) this.#changing.add(object);
    try {
      return await change();
    } finally {
      for (const object of objects) this.#changing.delete(object);
    }
  }

  async #settle(at: DatasetAddress, objects: readonly SettledObject[]): Promise<void> {
    using patience = this.#patience();
    const settled = new Set(await this.#kept.settle(at, objects, patience.signal).catch(() => []));
    const left = objects.filter(({ name }) => !settled.has(name));
    await this.#lookAll(left.map(({ name }) => ({ ...at, name })));
  }

  async #lookAll(objects: readonly KeptObject[]): Promise<void> {
    for (const object of objects) await this.#look(object);
  }

  /** Never rejects: an entry that stays held counts too much until the sweep. */
  async #look({ name, ...at }: KeptObject): Promise<void> {
    const key = datasetPrefix(at) + name;
    using patience = this.#patience();
    const { signal } = patience;
    try {
      for (let look = 0; look < LOOKS; look++) {
        const reservation = await this.#kept.reserve(at, [{ name, bytes: 0 }], signal);
        const info = await this.#store.head(key, signal);
        const turn = reservation.fits ? reservation.turns[0] : undefined;
        if (turn === undefined) continue;
        if ((await this.#kept.settle(at, [{ name, turn, bytes: info?.size }], signal)).length > 0) return;
      }
    } catch (err) {
      this.#options.log.warn({ err, key }, 'an object could not be counted; the next sweep recounts it');
    }
  }

  #patience(): ReturnType<typeof deadline> {
    const late = (): Error => new Error(`not finished within ${SETTLE_MS} ms`);
    return deadline(this.#options.clock, SETTLE_MS, undefined, late);
  }
}
