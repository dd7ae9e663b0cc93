// Checks the digests that a client sends with a body, or with a part of a multipart body, while the body is read (RFC 9530). Both
// fields say the same of a body: it is sent whole and not encoded. A body that does not have its digest is refused with 400.

import { createHash, type Hash } from 'node:crypto';
import { pipeline, type Readable, Transform } from 'node:stream';
import { digestMember, type FieldDigest, parseDigestField } from '../../../engine/model/digest.ts';
import { badRequest, type HttpError } from '../pipeline/errors.ts';

const FIELDS = { 'content-digest': 'Content-Digest', 'repr-digest': 'Repr-Digest' } as const;
type Field = keyof typeof FIELDS;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Expected extends FieldDigest {
  readonly field: string;
  readonly sum: Hash;
}

/** The digests in a header; none if it is absent. Throws 400 for one that is malformed. @param where before the header's name */
export function fieldDigests(headers: Headers, field: Field, where = ''): readonly FieldDigest[] {
  const given = headers[field];
  const found = parseDigestField(typeof given === 'string' ? given : (given ?? []).join(', '));
  if ('fault' in found) throw badRequest(`${where}header ${FIELDS[field]} ${found.fault}`);
  return found;
}

/** The 400 for content that does not have its digest. */
export const otherDigest = (field: string, sent: FieldDigest, computed: string, what: string): HttpError =>
  badRequest(
    `header ${field} says ${digestMember(sent.algorithm, sent.value)}, but ${what} has ${digestMember(sent.algorithm, computed)}`,
  );

export class BodyDigests {
  readonly #expected: readonly Expected[];
  readonly #where: string;
  readonly #what: string;

  private constructor(expected: readonly Expected[], where: string, what: string) {
    this.#expected = expected;
    this.#where = where;
    this.#what = what;
  }

  /** Undefined if the headers have no digest that we can compute. */
  static of(
    headers: Headers,
    fields: readonly Field[] = ['content-digest', 'repr-digest'],
    part?: string,
  ): BodyDigests | undefined {
    const where = part === undefined ? '' : `part '${part}': `;
    const expected = fields.flatMap((field) =>
      fieldDigests(headers, field, where).map((digest) => ({
        ...digest,
        field: FIELDS[field],
        sum: createHash(digest.hash),
      })),
    );
    return expected.length === 0 ? undefined : new BodyDigests(expected, where, part === undefined ? 'the body' : 'it');
  }

  update(chunk: Uint8Array): void {
    for (const { sum } of this.#expected) sum.update(chunk);
  }

  /** To be called once, at the end of the body. */
  demand(): void {
    for (const { sum, field, ...sent } of this.#expected) {
      const computed = sum.digest('base64');
      if (computed === sent.value) continue;
      const { message } = otherDigest(field, sent, computed, this.#what);
      throw badRequest(this.#where + message);
    }
  }

  /** A stream that fails at its end if what went through it does not have the digests. */
  stream(highWaterMark: number): Transform {
    return new Transform({
      highWaterMark,
      transform: (chunk: Buffer, _encoding, done) => {
        this.update(chunk);
        done(null, chunk);
      },
      flush: (done) => {
        try {
          this.demand();
          done();
        } catch (error) {
          done(error as Error);
        }
      },
    });
  }
}

const PART_BUFFER_BYTES = 64 * 1024;

/** The body of a part, which fails if it does not have its digests. What nobody reads of it has to be resumed. */
export function checkedPart(body: Readable, digests: BodyDigests): Readable {
  const checked = digests.stream(PART_BUFFER_BYTES);
  checked.on('error', () => undefined);
  // Its reader gets the failure.
  return pipeline(body, checked, () => undefined);
}
