// What a request asks for, as a hash: two requests with equal parts have the same, in whatever order the parts come. Nothing is
// kept but hashes.

import { createHash } from 'node:crypto';
import { pipeline, type Readable, Transform } from 'node:stream';
import { isObject, parseJson, stringifyJson } from '../../../engine/model/json.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export class Fingerprint {
  readonly #parts: string[] = [];

  /** A JSON value: neither white space nor the order of members counts. */
  document(name: string, value: unknown): void {
    this.#add(name, sha256(canonicalJson(value)));
  }

  /**
   * Returns the same bytes, which count once they were read to the end. Whoever destroys the result destroys the body.
   * @param jsonBytes up to this length, JSON counts as a document. Its chunks are held until then.
   */
  bytes(name: string, body: Readable, jsonBytes = 0): Readable {
    const hash = createHash('sha256');
    const held: Buffer[] = [];
    let length = 0;
    const hashed = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        hash.update(chunk);
        length += chunk.length;
        if (length <= jsonBytes) held.push(chunk);
        done(null, chunk);
      },
      flush: (done) => {
        const value = length <= jsonBytes ? jsonOf(Buffer.concat(held)) : undefined;
        if (value === undefined) this.#add(name, hash.digest('hex'));
        else this.document(name, value);
        done();
      },
    });
    pipeline(body, hashed, () => undefined);
    return hashed;
  }

  digest(): string {
    return sha256(this.#parts.toSorted().join('\n'));
  }

  #add(name: string, digest: string): void {
    this.#parts.push(`${JSON.stringify(name)} ${digest}`);
  }
}

const canonicalJson = (value: unknown): string => stringifyJson(sorted(value));

/** Undefined for what is not JSON. */
function jsonOf(bytes: Buffer): unknown {
  try {
    return parseJson(bytes.toString());
  } catch {
    return undefined;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((name) => [name, sorted(value[name])]),
  );
}
