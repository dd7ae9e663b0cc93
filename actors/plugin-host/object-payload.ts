// An object of the store as the payload of a call. A local file of the store is read in place; otherwise the object is copied.

import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { ObjectReader } from '../../engine/ports/object-store.ts';
import { defect } from '../../engine/runtime/failure.ts';
import { changedWhileRead, type ObjectFile, openObject } from '../tasks/task-map.ts';
import type { Payload } from './workspace.ts';

export type PayloadStore = Pick<ObjectReader, 'get' | 'head' | 'localFile'>;

export class ObjectPayload {
  readonly #object: ObjectFile;
  readonly #store: PayloadStore;
  /** The failure of the store or of the object, as opposed to errors of the scratch space. */
  #fault: unknown;

  constructor(object: ObjectFile, store: PayloadStore) {
    this.#object = object;
    this.#store = store;
  }

  /** False: it has to be copied first, which may take long. */
  get isInPlace(): boolean {
    return this.#store.localFile !== undefined;
  }

  /** @param copy path for a copy, if one is needed */
  async open(copy: string, signal: AbortSignal): Promise<Payload> {
    const file = this.#store.localFile?.(this.#object.key);
    if (file !== undefined) return { file, isStored: true, release: () => this.verify(signal) };
    await this.copyTo(copy, signal);
    return { file: copy, release: () => rm(copy) };
  }

  /** Fails if the object has been replaced or removed: then another one may have been read. */
  async verify(signal: AbortSignal): Promise<void> {
    const { key, etag } = this.#object;
    const info = await this.#store.head(key, signal).catch((error: unknown) => {
      this.#fault = error;
      throw error;
    });
    if (info?.etag === etag) return;
    this.#fault = changedWhileRead(key);
    throw this.#fault;
  }

  /** After a failure of the call: throws if the store, or a change of the object, is the reason. */
  async throwFault(signal: AbortSignal): Promise<void> {
    if (this.#fault === undefined && this.isInPlace) await this.verify(signal);
    if (this.#fault !== undefined) throw this.#fault;
  }

  async copyTo(path: string, signal: AbortSignal): Promise<void> {
    await pipeline(this.#chunks(signal), createWriteStream(path, { flags: 'wx' }), { signal });
  }

  async *#chunks(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { name, size } = this.#object;
    try {
      let bytes = 0;
      for await (const chunk of (await openObject(this.#object, this.#store, signal)).body) {
        bytes += (chunk as Uint8Array).length;
        if (bytes > size) break;
        yield chunk as Uint8Array;
      }
      if (bytes !== size) throw defect(`'${name}' has ${bytes > size ? 'more' : 'fewer'} bytes than its ${size}`);
    } catch (error) {
      this.#fault = error;
      throw error;
    }
  }
}
