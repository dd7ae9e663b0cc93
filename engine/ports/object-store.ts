// The object store: the truth about which datasets exist and what they say. Keys are built by model/object-key.ts.

import type { Readable } from 'node:stream';

/**
 * What the store tells of an object. `put`, `head`, `get` and `list` tell exactly the same, so (modified, etag) of one can be
 * compared with that of another: equal means equal content, while a difference may also be the same content put again.
 */
export interface ObjectInfo {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /**
   * Stands for the content: other content has another etag; the same content put again may have the same one or another.
   * Opaque, `[A-Za-z0-9-]+`.
   */
  readonly etag: string;
  /** When it was put, in the store's time: to the millisecond, or cut to whole seconds. */
  readonly modified: Date;
}

/**
 * Objects of a page of a listing as places in its bytes, for whoever compares millions and needs few: what is compared
 * bytewise is never made.
 */
export interface ObjectColumns {
  readonly bytes: Uint8Array;
  /** Number of objects; the columns may be longer. */
  readonly length: number;
  /** Four of each object: where its key begins and ends, where its etag does; both UTF-8. */
  readonly places: Int32Array;
  /** Since 1970. */
  readonly modifiedMs: Float64Array;
}

/** Objects of a page, of which a store may make each only when it is read; an array is one. */
export type ObjectPage = Pick<readonly ObjectInfo[], 'length' | 'at' | typeof Symbol.iterator> & {
  readonly columns?: ObjectColumns | undefined;
};

/** Bytes from..to, both included; `to` absent = to the end. The caller has checked them against the size. */
export interface ByteRange {
  readonly from: number;
  readonly to?: number;
}

/** What to store: bytes at hand, a stream (destroyed on failure), or a local file that may be moved into the store. */
export type ObjectSource = Uint8Array | Readable | { readonly file: string };

export interface PutOptions {
  /** Bytes of a stream when known; a stream that ends sooner or later is a `rejected` failure and stores nothing. */
  readonly size?: number;
  /** The chunks of a stream are nobody else's: who is done with one may give its memory back before the collector does. */
  readonly ownChunks?: true;
}

export interface OpenObject {
  readonly info: ObjectInfo;
  /** Must be consumed or destroyed. */
  readonly body: Readable;
  /** The same bytes for who has memory for them, until the body is destroyed: it is, or fails, with the signal of the get. */
  readonly direct?: DirectBody;
}

/** A body that can be read anywhere, several pieces at a time. */
export interface DirectBody {
  readonly bytes: number;
  /** Fills the target with what lies at `position`, counted from where the body begins; there must be so many bytes. */
  readonly fill: (target: Uint8Array, position: number) => Promise<void>;
}

export interface ObjectStore {
  /**
   * Stores whole or not at all; durable when it resolves. An abort or a failing source leaves no object. When the store has
   * got everything by the time of the abort, the put is not undone and may resolve; a store that goes away at that moment
   * leaves open whether it was done, which is a `transient` failure like any other.
   */
  put(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<ObjectInfo>;
  /** Undefined when there is no such object. */
  get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<OpenObject | undefined>;
  head(key: string, signal: AbortSignal): Promise<ObjectInfo | undefined>;
  /** Every object below the prefix in byte order of keys, in constant memory. `after` skips keys up to and including it. */
  list(prefix: string, options: { readonly after?: string }, signal: AbortSignal): AsyncIterable<ObjectInfo>;
  /**
   * What {@link list} gives, some hundred at a time: for millions of objects, to wait for each alone is most of the time. A
   * page may only be read until the next is asked for, which may come to lie in its place; what was read of it stays.
   */
  pages(prefix: string, options: { readonly after?: string }, signal: AbortSignal): AsyncIterable<ObjectPage>;
  /** Removes in the given order; absent keys are fine. */
  remove(keys: readonly string[], signal: AbortSignal): Promise<void>;
  /** Resolves when the store answers; fails with a `transient` failure that names it otherwise. */
  probe(signal: AbortSignal): Promise<void>;
}

/** The half that reads, which worker threads open for themselves. */
export type ObjectReader = Pick<ObjectStore, 'get' | 'head' | 'list'>;
