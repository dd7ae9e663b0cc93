// The object store: the source of truth for which datasets exist and what they contain. Keys are built by model/object-key.ts.

import type { Readable } from 'node:stream';

/**
 * What the store reports about an object. `put`, `head`, `get` and `list` report exactly the same, so (modified, etag) from one
 * can be compared with that from another. Equal means equal content; a difference may also mean that the same content was put
 * again.
 */
export interface ObjectInfo {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /**
   * Identifies the content: other content has another etag; the same content put again may have the same etag or another.
   * Opaque, `[A-Za-z0-9-]+`.
   */
  readonly etag: string;
  /** When it was put, by the store's clock: to the millisecond, or truncated to whole seconds. */
  readonly modified: Date;
}

/** Bytes from..to, both included; `to` absent = to the end. The caller has checked them against the object's size. */
export interface ByteRange {
  readonly from: number;
  readonly to?: number;
}

/** What to store: bytes in memory, a stream (destroyed on failure), or a local file that may be moved into the store. */
export type ObjectSource = Uint8Array | Readable | { readonly file: string };

export interface PutOptions {
  /** Bytes of the source when known. A source that ends earlier or later is a `rejected` failure and stores nothing. */
  readonly size?: number;
  /**
   * The chunks of a stream belong to the store: it may free the memory of a chunk that it is done with, before the collector
   * does.
   */
  readonly ownChunks?: true;
  /**
   * The caller starts what follows from this object by itself, in the transaction that records the object. A store that can
   * leave its announcement out does so; S3 announces every change. A crash loses nothing. Until that transaction commits, the
   * job or the upload that put the object still exists and is repeated; from then on, what follows is recorded with it.
   */
  readonly handedOver?: true;
  /**
   * The object may be lost in a power failure until a later put of this process names it in `alsoDurable`. For objects that
   * are worth nothing before that put.
   */
  readonly durable?: false;
}

export interface RemoveOptions {
  /**
   * The caller itself does what follows from the removal, in a job that is repeated until all of it is done. A store that can
   * leave its announcements out does so; S3 announces every change.
   */
  readonly handedOver?: true;
  /**
   * The caller removes the whole dataset: its objects, then its rows. The rows hold the counts of the objects, so a store that
   * counts bytes need not reduce them first.
   */
  readonly forgotten?: true;
}

/** An object to store. */
export interface NewObject {
  readonly key: string;
  readonly source: ObjectSource;
  readonly options?: PutOptions;
}

export interface PutAllOptions {
  /** Keys of objects that were put with `durable: false`: they are durable, too, when the put resolves. */
  readonly alsoDurable?: readonly string[];
  /** Whoever counts the owner's bytes (storage-room.ts) leaves the last step to the caller, as the `turn` of each object. */
  readonly settle?: 'by caller';
}

/** Holds all changes of a store for a short time: they wait. Reads go on. */
export interface StoreHold {
  /**
   * Resolves once no change is in progress, with the time at which the hold ends by itself. Rejects if the store is held
   * already, or if changes in progress do not end within `ms`.
   */
  hold(ms: number, signal: AbortSignal): Promise<Date>;
  /** Ends the hold. False if it had ended by itself: objects may have changed since. */
  release(): boolean;
}

export interface StoredObject extends ObjectInfo {
  /**
   * Only with `settle: 'by caller'`, and only of a counted object. The caller settles it in the transaction that records the
   * object. If it does not, the bytes stay counted, and the next sweep settles them.
   */
  readonly turn?: number;
}

export interface OpenObject {
  readonly info: ObjectInfo;
  /** Must be consumed or destroyed. */
  readonly body: Readable;
  /**
   * The same bytes for callers that provide the memory, until the body is destroyed. Aborting the signal of the get ends it,
   * too.
   */
  readonly direct?: DirectBody;
}

/** A body that can be read at any position, several pieces at a time. */
export interface DirectBody {
  readonly bytes: number;
  /** Fills the target with the bytes at `position`, counted from the start of the body; there must be that many bytes. */
  readonly fill: (target: Uint8Array, position: number) => Promise<void>;
}

export interface ObjectStore {
  /**
   * Stores all or nothing; durable when it resolves. An abort or a failing source leaves no object. If the store has received
   * everything by the time of the abort, the put is not undone and may resolve. If the store becomes unreachable at that
   * moment, it is unknown whether the put happened; that is a `transient` failure like any other.
   */
  put(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<ObjectInfo>;
  /**
   * Stores several objects of one dataset, with different keys, in the given order, each like {@link put}. All are durable when
   * it resolves. After a failure, or the crash of a process, the first few may be stored and the others are not; after a power
   * failure, any of them may be missing. Returns them in the given order.
   */
  putAll(objects: readonly NewObject[], options: PutAllOptions, signal: AbortSignal): Promise<readonly StoredObject[]>;
  /** Undefined when there is no such object. */
  get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<OpenObject | undefined>;
  head(key: string, signal: AbortSignal): Promise<ObjectInfo | undefined>;
  /**
   * Where the object is, if the store keeps objects as files on this machine. Read only. The file never changes, but the key may
   * have another file at any time, or none: if `head` returns the same etag before and after a read, its object was read.
   */
  localFile?(key: string): string;
  /** Every object below the prefix in byte order of keys, in constant memory. `after` skips keys up to and including it. */
  list(prefix: string, options: { readonly after?: string }, signal: AbortSignal): AsyncIterable<ObjectInfo>;
  /**
   * The same objects as {@link list}, a few hundred at a time: with millions of objects, awaiting each one takes most of the
   * time.
   */
  pages(
    prefix: string,
    options: { readonly after?: string },
    signal: AbortSignal,
  ): AsyncIterable<readonly ObjectInfo[]>;
  /** Removes in the given order; absent keys are ignored. */
  remove(keys: readonly string[], signal: AbortSignal, options?: RemoveOptions): Promise<void>;
  /**
   * Removes leftovers, of which nobody has to hear: as {@link remove}, but a power failure may bring them back, and a store that
   * can leave the announcement out does so. Reconciliation removes what came back.
   */
  discard(keys: readonly string[], signal: AbortSignal): Promise<void>;
  /** Resolves when the store answers; otherwise fails with a `transient` failure that names the store. */
  probe(signal: AbortSignal): Promise<void>;
}

/** The reading half, which worker threads open for themselves. */
export type ObjectReader = Pick<ObjectStore, 'get' | 'head' | 'list' | 'localFile'>;
