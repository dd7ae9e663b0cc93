// An object store in memory. It records its changes in order, and can be told to be away.

import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ObjectChange } from '../../engine/model/event.ts';
import { demandDifferentKeys } from '../../engine/model/object-key.ts';
import type {
  ByteRange,
  NewObject,
  ObjectInfo,
  ObjectSource,
  ObjectStore,
  OpenObject,
  PutAllOptions,
  PutOptions,
  RemoveOptions,
} from '../../engine/ports/object-store.ts';
import { rejected, transient } from '../../engine/runtime/failure.ts';

interface StoredObject {
  readonly info: ObjectInfo;
  readonly bytes: Buffer;
}

const PAGE_KEYS = 3;

export class FakeObjectStore implements ObjectStore {
  readonly changes: ObjectChange[] = [];
  /** Whether it leaves the announcement of objects out that are handed over, and of what is discarded. */
  honorsHandOver = false;
  /** Called first by every method with its name, for each object; throws what the store should fail with. */
  onCall: (method: keyof ObjectStore, key: string) => void = () => {};
  readonly #objects = new Map<string, StoredObject>();
  readonly #now: () => number;
  #puts = 0;

  /** @param now gives the time of changes, in ms */
  constructor(now: () => number = () => 0) {
    this.#now = now;
  }

  /** All keys in byte order. */
  keys(): string[] {
    return [...this.#objects.keys()].sort(byBytes);
  }

  /** Content as text; undefined when there is no such object. */
  text(key: string): string | undefined {
    return this.#objects.get(key)?.bytes.toString();
  }

  async put(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<ObjectInfo> {
    try {
      this.onCall('put', key);
      signal.throwIfAborted();
      const bytes = await collect(key, source, signal);
      if (options.size !== undefined && bytes.length !== options.size)
        throw rejected(`${key}: the source has ${bytes.length} bytes, but ${options.size} bytes were announced`);
      const info = { key, size: bytes.length, etag: `fake-${++this.#puts}`, modified: new Date(this.#now()) };
      this.#objects.set(key, { info, bytes });
      if (!(this.honorsHandOver && options.handedOver)) this.changes.push({ kind: 'created', key });
      return info;
    } catch (error) {
      if (source instanceof Readable) source.destroy();
      throw error;
    }
  }

  async putAll(
    objects: readonly NewObject[],
    _options: PutAllOptions,
    signal: AbortSignal,
  ): Promise<readonly ObjectInfo[]> {
    try {
      demandDifferentKeys(objects.map(({ key }) => key));
      const infos: ObjectInfo[] = [];
      for (const { key, source, options = {} } of objects) infos.push(await this.put(key, source, options, signal));
      return infos;
    } catch (error) {
      for (const { source } of objects) if (source instanceof Readable) source.destroy();
      throw error;
    }
  }

  async get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<OpenObject | undefined> {
    this.onCall('get', key);
    signal.throwIfAborted();
    const found = this.#objects.get(key);
    if (!found) return undefined;
    const bytes = range ? found.bytes.subarray(range.from, (range.to ?? found.bytes.length) + 1) : found.bytes;
    const body = Readable.from(slices(bytes), { objectMode: false, signal });
    // An abort before anybody reads must not end the process.
    body.on('error', () => {});
    return { info: found.info, body };
  }

  async head(key: string, signal: AbortSignal): Promise<ObjectInfo | undefined> {
    this.onCall('head', key);
    signal.throwIfAborted();
    return this.#objects.get(key)?.info;
  }

  async *list(
    prefix: string,
    options: { readonly after?: string },
    signal: AbortSignal,
  ): AsyncGenerator<ObjectInfo, void, undefined> {
    this.onCall('list', prefix);
    for (const key of this.keys()) {
      signal.throwIfAborted();
      if (!key.startsWith(prefix)) continue;
      if (options.after !== undefined && byBytes(key, options.after) <= 0) continue;
      const found = this.#objects.get(key);
      if (found) yield found.info;
    }
  }

  async *pages(...args: Parameters<ObjectStore['pages']>): AsyncGenerator<readonly ObjectInfo[], void, undefined> {
    yield* inPages(this.list(...args));
  }

  async remove(keys: readonly string[], signal: AbortSignal, { handedOver }: RemoveOptions = {}): Promise<void> {
    for (const key of keys) {
      this.onCall('remove', key);
      signal.throwIfAborted();
      if (this.#objects.delete(key) && !(this.honorsHandOver && handedOver))
        this.changes.push({ kind: 'removed', key });
    }
  }

  async discard(keys: readonly string[], signal: AbortSignal): Promise<void> {
    for (const key of keys) {
      this.onCall('discard', key);
      signal.throwIfAborted();
      if (this.#objects.delete(key) && !this.honorsHandOver) this.changes.push({ kind: 'removed', key });
    }
  }

  async probe(signal: AbortSignal): Promise<void> {
    this.onCall('probe', '');
    signal.throwIfAborted();
  }
}

/** A listing in pages so small that datasets lie on several. */
export async function* inPages(
  listing: AsyncIterable<ObjectInfo>,
): AsyncGenerator<readonly ObjectInfo[], void, undefined> {
  let page: ObjectInfo[] = [];
  for await (const info of listing) {
    if (page.push(info) < PAGE_KEYS) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

async function collect(key: string, source: ObjectSource, signal: AbortSignal): Promise<Buffer> {
  if (source instanceof Uint8Array) return Buffer.from(source);
  if ('file' in source) return readFile(source.file, { signal });
  const abort = (): void => void source.destroy(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of source) chunks.push(Buffer.from(chunk));
    signal.throwIfAborted();
    return Buffer.concat(chunks);
  } catch (error) {
    if (!signal.aborted && error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')
      throw transient(`the source of ${key} closed before its end`, { cause: error });
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let i = 0; i < bytes.length; i += 65_536) yield bytes.subarray(i, i + 65_536);
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
