// The entries of a tar, out of its bytes in chunks of any size. Content is never copied or queued, it is shown where it
// lies: through the streams of tar-stream, which do the same, every chunk waits several times.

import { padding, RECORD_BYTES } from './tar-header.ts';
import { decodePax, decodeRecord, decodeText, type TarRecord } from './tar-record.ts';

export interface TarEntry {
  readonly name: string;
  readonly size: number;
  readonly type: 'file' | 'folder' | 'link' | 'other';
  /** Of a pax header of its own; empty without one. */
  readonly pax: Readonly<Record<string, string>>;
}

/** Of a name or of a pax header, as tar-stream has it. */
const MAX_EXTRA_BYTES = 4 * 1024 * 1024;

export class TarEntries {
  readonly #chunks: AsyncIterator<Uint8Array>;
  /** What is left of the current chunk. */
  #rest: Buffer = Buffer.alloc(0);
  #ended = false;
  /** Of the current entry: content, and what fills its last record up. */
  #left = 0;
  #padding = 0;
  #globalPax: Readonly<Record<string, string>> = {};

  /** A chunk must hold until the next one is asked for. */
  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** Passes over what is left of the entry before; undefined at the end. Throws a plain error for what is no tar. */
  async next(): Promise<TarEntry | undefined> {
    while ((await this.content()) !== undefined);
    let long: string | undefined;
    let pax: Readonly<Record<string, string>> | undefined;
    for (;;) {
      const record = await this.#record();
      if (!record) return undefined;
      switch (record.type) {
        case 'pax':
          pax = { ...this.#globalPax, ...decodePax(await this.#extra(record)) };
          break;
        case 'global pax':
          this.#globalPax = decodePax(await this.#extra(record));
          break;
        case 'long path':
          long = decodeText(await this.#extra(record));
          break;
        case 'long link':
          await this.#extra(record);
          break;
        default:
          return this.#begin({ ...record, type: record.type }, long, pax);
      }
    }
  }

  /** What comes next of the current entry's content, undefined at its end; it holds until the next call. */
  async content(): Promise<Uint8Array | undefined> {
    if (this.#left > 0) {
      if (this.#rest.length === 0 && !(await this.#more())) throw cutOff();
      const part = this.#take(this.#left);
      this.#left -= part.length;
      return part;
    }
    while (this.#padding > 0) {
      if (this.#rest.length === 0 && !(await this.#more())) throw cutOff();
      this.#padding -= this.#take(this.#padding).length;
    }
    return undefined;
  }

  #begin(
    record: Pick<TarEntry, 'name' | 'size' | 'type'>,
    long: string | undefined,
    pax: Readonly<Record<string, string>> = {},
  ): TarEntry {
    const size = pax.size ? Number.parseInt(pax.size, 10) : record.size;
    if (!(size >= 0)) throw new Error('a record without a size');
    const entry = { name: pax.path || long || record.name, size, type: record.type, pax };
    // What a folder says of its size is no content.
    if (entry.type !== 'folder') [this.#left, this.#padding] = [size, padding(size)];
    return entry;
  }

  /** The next that is not all zeros. */
  async #record(): Promise<TarRecord | undefined> {
    for (;;) {
      if (this.#rest.length === 0 && !(await this.#more())) return undefined;
      const record = decodeRecord(await this.#exactly(RECORD_BYTES));
      if (record) return record;
    }
  }

  /** The content of a record that tells of the one after it. */
  async #extra({ size }: TarRecord): Promise<Buffer> {
    if (!(size >= 0)) throw new Error('a record without a size');
    if (size > MAX_EXTRA_BYTES) throw new Error(`a record with names of ${size} bytes`);
    const filled = await this.#exactly(size + padding(size));
    return filled.subarray(0, size);
  }

  /** A view where they lie in one chunk. */
  async #exactly(bytes: number): Promise<Buffer> {
    if (this.#rest.length >= bytes) return this.#take(bytes);
    const all = Buffer.allocUnsafe(bytes);
    for (let filled = 0; filled < bytes; ) {
      if (this.#rest.length === 0 && !(await this.#more())) throw cutOff();
      filled += this.#take(bytes - filled).copy(all, filled);
    }
    return all;
  }

  #take(most: number): Buffer {
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  /** False at the end. */
  async #more(): Promise<boolean> {
    while (this.#rest.length === 0 && !this.#ended) {
      const { done, value } = await this.#chunks.next();
      if (done) this.#ended = true;
      else this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    return this.#rest.length > 0;
  }
}

const cutOff = (): Error => new Error('the tar ends inside an entry');
