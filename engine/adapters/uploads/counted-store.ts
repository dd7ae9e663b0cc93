// The installer's object store, which counts every byte that is stored for an owner. A put is counted before it is stored, and
// rejected when it exceeds the owner's quota. A removal is subtracted. Files under raw/ are counted by the uploads
// (ports/uploads.ts), and flags are empty.
//
// A process that crashes in between leaves entries that count too much; `sweep` recounts them.

import { stat } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type DatasetAddress, datasetPrefix, type ObjectKey, parseKey } from '../../model/object-key.ts';
import type { ObjectInfo, ObjectSource, ObjectStore, PutOptions } from '../../ports/object-store.ts';
import { type KeptObject, overQuota, type ReserveOptions, type StoredBytes } from '../../ports/storage-room.ts';
import { rejected } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Clock, deadline } from '../../runtime/time.ts';

interface CountedStoreOptions {
  /** Quota per owner, in bytes. */
  readonly quotaBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Reservation step for a stream of unknown length. */
const STEP_BYTES = 1024 * 1024;
/** Deadline for recording the outcome of an object. Independent of the caller's signal. */
const SETTLE_MS = 10_000;
/** How often concurrent changes of one object are retried; after that the sweep handles it. */
const LOOKS = 5;
/**
 * How many datasets are remembered for a recount while the database is unavailable. The rest is found after this process has
 * ended.
 */
const UNSETTLED = 10_000;

export class CountedStore implements ObjectStore {
  readonly #store: ObjectStore;
  readonly #kept: StoredBytes;
  readonly #options: CountedStoreOptions;
  /** Objects whose entries this process still holds because the database or the store did not respond. */
  readonly #unsettled = new Map<string, KeptObject>();

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
    const object = countedObject(key);
    if (!object) return this.#store.put(key, source, options, signal);
    const size = await sizeOf(source, options);
    const put = new CountedPut(object, this.#kept, this.#options.quotaBytes);
    let info: ObjectInfo | undefined;
    try {
      if (size !== undefined) await put.reserve(size, signal);
      info = await (size === undefined && source instanceof Readable
        ? this.#putUncounted(key, source, options, put, signal)
        : this.#store.put(key, source, options, signal));
      return info;
    } catch (error) {
      if (source instanceof Readable) source.destroy();
      throw put.refusal ?? error;
    } finally {
      if (put.turn !== undefined) await this.#settle(object, put.turn, info && { bytes: info.size });
    }
  }

  async remove(keys: readonly string[], signal: AbortSignal): Promise<void> {
    const held: { readonly object: KeptObject; readonly turn: number }[] = [];
    for (const [at, names] of namesByDataset(keys))
      for (const { name, turn } of await this.#kept.hold(at, names, signal))
        held.push({ object: { ...at, name }, turn });
    let isGone = false;
    try {
      await this.#store.remove(keys, signal);
      isGone = true;
    } finally {
      for (const { object, turn } of held) await this.#settle(object, turn, isGone ? { bytes: undefined } : undefined);
    }
  }

  /** Recounts what crashed processes left, and what was never counted. Returns the number of datasets. */
  async sweep(signal: AbortSignal): Promise<number> {
    for (const [key, object] of this.#unsettled) {
      this.#unsettled.delete(key);
      await this.#look(object);
    }
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

  /** Counts the body while it streams: each byte is reserved in the quota before the store gets it. */
  async #putUncounted(
    key: string,
    source: Readable,
    options: PutOptions,
    put: CountedPut,
    signal: AbortSignal,
  ): Promise<ObjectInfo> {
    let bytes = 0;
    const counting = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        bytes += chunk.length;
        put.admit(bytes, signal).then(() => done(null, chunk), done);
      },
    });
    await put.reserve(0, signal);
    const piping = pipeline(source, counting, { signal });
    const [piped, stored] = await Promise.allSettled([piping, this.#store.put(key, counting, options, signal)]);
    if (stored.status === 'fulfilled') return stored.value;
    throw put.refusal ?? (piped.status === 'rejected' ? piped.reason : stored.reason);
  }

  /** @param outcome undefined = the object's outcome is unknown */
  async #settle(
    object: KeptObject,
    turn: number,
    outcome: { readonly bytes: number | undefined } | undefined,
  ): Promise<void> {
    if (!outcome) return this.#look(object);
    using patience = this.#patience();
    const settled = await this.#kept.settle(object, turn, outcome.bytes, patience.signal).catch(() => false);
    if (!settled) await this.#look(object);
  }

  /** Never rejects: an entry that stays held counts too much until the sweep. */
  async #look(object: KeptObject): Promise<void> {
    const key = datasetPrefix(object) + object.name;
    using patience = this.#patience();
    const { signal } = patience;
    try {
      for (let look = 0; look < LOOKS; look++) {
        const reservation = await this.#kept.reserve(object, 0, {}, signal);
        const info = await this.#store.head(key, signal);
        if (reservation.fits && (await this.#kept.settle(object, reservation.turn, info?.size, signal))) return;
      }
    } catch (err) {
      this.#options.log.warn({ err, key }, 'an object could not be counted; the next sweep recounts it');
    }
    if (this.#unsettled.size < UNSETTLED) this.#unsettled.set(key, object);
  }

  #patience(): ReturnType<typeof deadline> {
    const late = (): Error => new Error(`not finished within ${SETTLE_MS} ms`);
    return deadline(this.#options.clock, SETTLE_MS, undefined, late);
  }
}

/** The reservation of one put. */
class CountedPut {
  readonly #object: KeptObject;
  readonly #kept: StoredBytes;
  readonly #quotaBytes: number;
  #reserved = 0;
  /** Undefined until something is reserved. */
  turn: number | undefined;
  refusal: Error | undefined;

  constructor(object: KeptObject, kept: StoredBytes, quotaBytes: number) {
    this.#object = object;
    this.#kept = kept;
    this.#quotaBytes = quotaBytes;
  }

  /** `rejected` when the quota does not have room for this many bytes. */
  async reserve(bytes: number, signal: AbortSignal): Promise<void> {
    const refused = await this.#try(bytes, signal);
    if (refused === undefined) return;
    this.refusal = rejected(overQuota(titleOf(this.#object.name), bytes, this.#quotaBytes, refused));
    throw this.refusal;
  }

  /** Reserves a step ahead if there is room for it. */
  async admit(bytes: number, signal: AbortSignal): Promise<void> {
    if (bytes <= this.#reserved) return;
    if ((await this.#try(bytes + STEP_BYTES, signal)) !== undefined) await this.reserve(bytes, signal);
  }

  /** Returns the bytes in use if it does not fit. */
  async #try(bytes: number, signal: AbortSignal): Promise<number | undefined> {
    const rules = rulesOf(this.#object.name);
    const options = rules === 'counted only' ? {} : { ...rules, limitBytes: this.#quotaBytes };
    const reservation = await this.#kept.reserve(this.#object, bytes, options, signal);
    if (!reservation.fits) return reservation.usedBytes;
    this.turn = reservation.turn;
    this.#reserved = bytes;
    return undefined;
  }
}

/** Undefined for objects that are not counted here. */
function countedObject(key: string): KeptObject | undefined {
  const parsed = parseKey(key);
  if (parsed === undefined || parsed === 'foreign' || !isCounted(parsed)) return undefined;
  const { owner, dataset } = parsed;
  return { owner, dataset, name: key.slice(datasetPrefix(parsed).length) };
}

function isCounted(key: ObjectKey): boolean {
  if (key.kind === 'file') return key.folder !== 'raw';
  return key.kind !== 'object' || (key.object !== 'delete-flag' && key.object !== 'revised-flag');
}

/** Documents that revoke rights or explain a failure are counted but never rejected. */
function rulesOf(name: string): 'counted only' | Pick<ReserveOptions, 'replacesRaw' | 'onlyNew'> {
  if (name === 'upload-error.json' || name.endsWith('/share-receipt.json')) return 'counted only';
  if (name.endsWith('/share-offer.json')) return { onlyNew: true };
  return name === 'import-ready.zip' ? { replacesRaw: true } : {};
}

const TITLES: Readonly<Record<string, string>> = {
  'vdi-meta.json': 'the metadata have',
  'vdi-manifest.json': 'the list of files has',
  'import-ready.zip': 'the packed upload has',
  'install-ready.zip': 'the import result has',
};

function titleOf(name: string): string {
  return TITLES[name] ?? `the file '${name.slice(name.lastIndexOf('/') + 1)}' has`;
}

function namesByDataset(keys: readonly string[]): ReadonlyMap<DatasetAddress, readonly string[]> {
  const byPrefix = new Map<string, { readonly at: DatasetAddress; readonly names: string[] }>();
  for (const key of keys) {
    const object = countedObject(key);
    if (!object) continue;
    const { name, ...at } = object;
    const prefix = datasetPrefix(at);
    const group = byPrefix.get(prefix) ?? { at, names: [] };
    group.names.push(name);
    byPrefix.set(prefix, group);
  }
  return new Map([...byPrefix.values()].map(({ at, names }) => [at, names]));
}

async function sizeOf(source: ObjectSource, { size }: PutOptions): Promise<number | undefined> {
  if (source instanceof Uint8Array) return source.length;
  if (source instanceof Readable) return size;
  return (await stat(source.file)).size;
}
