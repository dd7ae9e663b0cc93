// The most recent log lines about a dataset or a request, for operators who cannot reach the log itself. They are kept in a ring
// of bytes: the newest overwrite the oldest, and no object is kept for a line.
//
//   0        #end                #old
//   | newer   | a part, then older |    |
//
// A line that does not fit before the end of the ring is written at its beginning; #old is where the lines before it end.

import { decodeUtf8 } from '../model/utf8.ts';

export type LogSubject = { readonly dataset: string } | { readonly request: string };

type LogRecord = Readonly<Record<string, unknown>>;

export interface FoundLog {
  /** Lines as they were logged, parsed; the oldest first. */
  readonly records: readonly LogRecord[];
  /** Older records about the same subject were left out. */
  readonly isCut: boolean;
  /** When the oldest record was logged that is kept, about any subject; undefined if none is. */
  readonly since: string | undefined;
}

const RING_BYTES = 4 * 1024 * 1024;
/** Longer lines are not kept: a few of them would displace all others. */
const LINE_BYTES = 64 * 1024;
/** Of what is found at once. */
const FOUND_BYTES = 512 * 1024;
const LINE_FEED = 10;

export class RecentLog {
  readonly #ring: Buffer;
  #end = 0;
  #old = 0;

  /** @param bytes of the ring */
  constructor(bytes = RING_BYTES) {
    // The system gives memory to pages that are written only.
    this.#ring = Buffer.allocUnsafeSlow(bytes);
  }

  /** @param line JSON, with its line feed */
  add(line: string): void {
    if (!line.includes('"dataset":"') && !line.includes('"request":"')) return;
    const bytes = Buffer.byteLength(line);
    if (bytes > Math.min(LINE_BYTES, this.#ring.length)) return;
    if (this.#end + bytes > this.#ring.length) {
      this.#old = this.#end;
      this.#end = 0;
    }
    this.#end += this.#ring.write(line, this.#end);
  }

  /** @param redact removes secrets from a line */
  find(subject: LogSubject, limit: number, redact: (line: string) => string): FoundLog {
    const [[key, id] = ['', '']] = Object.entries(subject) as [string, string][];
    const mark = `"${key}":${JSON.stringify(id)}`;
    const lines = this.#lines();
    const records: LogRecord[] = [];
    let bytes = 0;
    for (const line of lines.toReversed()) {
      // The mark may also be in the text of a record.
      if (!line.includes(mark) || parsed(line)[key] !== id) continue;
      bytes += line.length;
      if (records.length === limit || bytes > FOUND_BYTES) return { records, isCut: true, since: sinceOf(lines) };
      records.unshift(parsed(redact(line)));
    }
    return { records, isCut: false, since: sinceOf(lines) };
  }

  /** The oldest first. */
  #lines(): readonly string[] {
    const newer = decodeUtf8(this.#ring.subarray(0, this.#end));
    // The line at #end has lost its beginning.
    const from = this.#end < this.#old ? this.#ring.subarray(0, this.#old).indexOf(LINE_FEED, this.#end) + 1 : 0;
    const older = from > 0 ? decodeUtf8(this.#ring.subarray(from, this.#old)) : '';
    return `${older ?? ''}${newer ?? ''}`.split('\n').filter((line) => line !== '');
  }
}

const parsed = (line: string): LogRecord => JSON.parse(line);

function sinceOf([oldest]: readonly string[]): string | undefined {
  return oldest === undefined ? undefined : String(parsed(oldest).time);
}
