// Room in the owner's quota for the objects of one put: reserved for all of them before anything is stored, and for a stream of
// unknown length while it is read.

import { stat } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type DatasetAddress, datasetPrefix } from '../../model/object-key.ts';
import type { NewObject } from '../../ports/object-store.ts';
import { type CountedObject, type KeptObject, overQuota, type StoredBytes } from '../../ports/storage-room.ts';
import { rejected } from '../../runtime/failure.ts';
import { countedObject, rulesOf, titleOf } from './counted-objects.ts';

/** Reservation step for a stream of unknown length. */
const STEP_BYTES = 1024 * 1024;

export class PutRoom {
  /** If the quota was what failed the put, why. */
  refusal: Error | undefined;
  readonly #at: DatasetAddress;
  readonly #kept: StoredBytes;
  readonly #quotaBytes: number;
  /** By name. */
  readonly #turns = new Map<string, number>();
  readonly #waiting = new Set<Promise<unknown>>();

  constructor(at: DatasetAddress, kept: StoredBytes, quotaBytes: number) {
    this.#at = at;
    this.#kept = kept;
    this.#quotaBytes = quotaBytes;
  }

  /** Objects for which something is reserved. A stream that has ended may still wait for a reservation. */
  async held(): Promise<readonly KeptObject[]> {
    await Promise.allSettled(this.#waiting);
    return [...this.#turns.keys()].map((name) => ({ ...this.#at, name }));
  }

  turnOf(key: string): number | undefined {
    return this.#turns.get(this.#nameOf(key));
  }

  /** Returns the objects to store. `rejected` when the quota has no room for one of them; then nothing is reserved. */
  async reserve(objects: readonly NewObject[], signal: AbortSignal): Promise<readonly NewObject[]> {
    const wanted: CountedObject[] = [];
    const unmeasured = new Set<NewObject>();
    for (const object of objects) {
      if (!countedObject(object.key)) continue;
      const bytes = await sizeOf(object);
      if (bytes === undefined) unmeasured.add(object);
      wanted.push({ name: this.#nameOf(object.key), bytes: bytes ?? 0 });
    }
    await this.#demand(wanted, signal);
    return objects.map((object) => {
      const { key, source } = object;
      if (!unmeasured.has(object) || !(source instanceof Readable)) return object;
      return { ...object, source: this.#counting(this.#nameOf(key), source, signal) };
    });
  }

  /** Counts the stream while it is read: each byte is reserved before the store gets it, a step ahead if there is room. */
  #counting(name: string, source: Readable, signal: AbortSignal): Readable {
    let bytes = 0;
    let reserved = 0;
    const admit = async (): Promise<void> => {
      if (bytes <= reserved) return;
      reserved = bytes + STEP_BYTES;
      if (!(await this.#try([{ name, bytes: reserved }], signal))) return;
      reserved = bytes;
      await this.#demand([{ name, bytes }], signal);
    };
    const counting = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        bytes += chunk.length;
        const admitted = admit().finally(() => this.#waiting.delete(admitted));
        this.#waiting.add(admitted);
        admitted.then(() => done(null, chunk), done);
      },
    });
    // The store finds a failure of the source in the stream that it reads, and ends it when the put is aborted.
    pipeline(source, counting).catch(() => {});
    return counting;
  }

  async #demand(objects: readonly CountedObject[], signal: AbortSignal): Promise<void> {
    const unfit = await this.#try(objects, signal);
    if (!unfit) return;
    const { object, usedBytes } = unfit;
    this.refusal = rejected(overQuota(titleOf(object.name), object.bytes, this.#quotaBytes, usedBytes));
    throw this.refusal;
  }

  /** Returns the first that does not fit. */
  async #try(
    objects: readonly CountedObject[],
    signal: AbortSignal,
  ): Promise<{ readonly object: CountedObject; readonly usedBytes: number } | undefined> {
    const wanted = objects.map((object) => {
      const rules = rulesOf(object.name);
      return rules === 'counted only' ? object : { ...object, ...rules, limitBytes: this.#quotaBytes };
    });
    const reservation = await this.#kept.reserve(this.#at, wanted, signal);
    if (!reservation.fits) return reservation;
    for (const [i, { name }] of objects.entries()) this.#turns.set(name, reservation.turns[i] as number);
    return undefined;
  }

  #nameOf(key: string): string {
    return key.slice(datasetPrefix(this.#at).length);
  }
}

/** Undefined if only reading it tells. */
async function sizeOf({ source, options }: NewObject): Promise<number | undefined> {
  if (source instanceof Uint8Array) return source.length;
  // If this is not the size, the store refuses the object.
  if (options?.size !== undefined || source instanceof Readable) return options?.size;
  return (await stat(source.file)).size;
}
