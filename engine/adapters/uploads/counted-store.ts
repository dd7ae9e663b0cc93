// The object store of the installer, through which every byte that is kept for an owner goes: what is put is counted before
// it is stored, refused when the owner's quota has no room for it, and what is removed is given back. What lies under raw/
// is counted by the uploads (ports/uploads.ts), and flags are empty.
//
// A process that dies in between leaves entries that count too much; `sweep` counts them anew.

import { stat } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type DatasetAddress, datasetPrefix, type ObjectKey, parseKey } from '../../model/object-key.ts';
import { overQuota } from '../../model/quota.ts';
import type { ObjectInfo, ObjectSource, ObjectStore, PutOptions } from '../../ports/object-store.ts';
import type { KeptBytes, KeptObject, ReserveOptions } from '../../ports/storage-room.ts';
import { rejected } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Clock, deadline } from '../../runtime/time.ts';

export interface CountedStoreOptions {
  /** Bytes that one owner may keep. */
  readonly quotaBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is reserved at a time for a stream of which nobody says how long it is. */
const STEP_BYTES = 1024 * 1024;
/** How long it may take to write down what came of an object; does not end with the caller's patience. */
const SETTLE_MS = 10_000;
/** Changes of one object at once that are waited out; more are left to the sweep. */
const LOOKS = 5;
/** Datasets that are to be counted anew, when the database was away; more are found once this process has ended. */
const UNSETTLED = 10_000;

export class CountedStore implements ObjectStore {
  readonly #store: ObjectStore;
  readonly #kept: KeptBytes;
  readonly #options: CountedStoreOptions;
  /** Objects whose entries this process still holds, because the database or the store could not be asked. */
  readonly #unsettled = new Map<string, KeptObject>();

  constructor(store: ObjectStore, kept: KeptBytes, options: CountedStoreOptions) {
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

  /** Counts anew what dead processes left, and what was never counted. Returns the number of datasets. */
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

  /** The body counts on its way: the quota has room for a byte before the store gets it. */
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

  /** @param outcome undefined = it is not known what came of the object */
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

  /** Never rejects: an entry that stays held counts too much, until the sweep. */
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
      this.#options.log.warn({ err, key }, 'an object could not be counted; it is counted anew by the next sweep');
    }
    if (this.#unsettled.size < UNSETTLED) this.#unsettled.set(key, object);
  }

  #patience(): ReturnType<typeof deadline> {
    const late = (): Error => new Error(`gave up after ${SETTLE_MS} ms`);
    return deadline(this.#options.clock, SETTLE_MS, undefined, late);
  }
}

/** What one put has reserved. */
class CountedPut {
  readonly #object: KeptObject;
  readonly #kept: KeptBytes;
  readonly #quotaBytes: number;
  #reserved = 0;
  /** Undefined until something is reserved. */
  turn: number | undefined;
  refusal: Error | undefined;

  constructor(object: KeptObject, kept: KeptBytes, quotaBytes: number) {
    this.#object = object;
    this.#kept = kept;
    this.#quotaBytes = quotaBytes;
  }

  /** `rejected` when the quota has no room for so many bytes. */
  async reserve(bytes: number, signal: AbortSignal): Promise<void> {
    const refused = await this.#try(bytes, signal);
    if (refused === undefined) return;
    this.refusal = rejected(overQuota(titleOf(this.#object.name), bytes, this.#quotaBytes, refused));
    throw this.refusal;
  }

  /** A step ahead when there is room for it. */
  async admit(bytes: number, signal: AbortSignal): Promise<void> {
    if (bytes <= this.#reserved) return;
    if ((await this.#try(bytes + STEP_BYTES, signal)) !== undefined) await this.reserve(bytes, signal);
  }

  /** What is used already, when it does not fit. */
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

/** Undefined for what is not counted here. */
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

/** What takes rights away, or says why something failed, is counted and never refused. */
function rulesOf(name: string): 'counted only' | Pick<ReserveOptions, 'replacesRaw' | 'onlyNew'> {
  if (name === 'upload-error.json' || name.endsWith('/share-receipt.json')) return 'counted only';
  if (name.endsWith('/share-offer.json')) return { onlyNew: true };
  return name === 'import-ready.zip' ? { replacesRaw: true } : {};
}

const TITLES: Readonly<Record<string, string>> = {
  'vdi-meta.json': 'the metadata have',
  'vdi-manifest.json': 'the list of files has',
  'import-ready.zip': 'the upload, packed, has',
  'install-ready.zip': 'what the import made of the upload has',
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
