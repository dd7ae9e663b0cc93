// Digests of content: SHA-256 in hex as we keep them, and the fields `Content-Digest` and `Repr-Digest` (RFC 9530).

const ALGORITHMS = { 'sha-256': { hash: 'sha256', bytes: 32 }, 'sha-512': { hash: 'sha512', bytes: 64 } } as const;
export type DigestAlgorithm = keyof typeof ALGORITHMS;

export interface FieldDigest {
  readonly algorithm: DigestAlgorithm;
  /** The name that `node:crypto` has for it. */
  readonly hash: 'sha256' | 'sha512';
  /** In Base64. */
  readonly value: string;
}

export const isSha256 = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/** `sha-256=:...:` for a digest in Base64. */
export const digestMember = (algorithm: DigestAlgorithm, value: string): string => `${algorithm}=:${value}:`;

/** The field for a SHA-256 in hex. */
export const sha256Field = (hex: string): string => digestMember('sha-256', Buffer.from(hex, 'hex').toString('base64'));

/** A member of a dictionary of byte sequences (RFC 8941), with parameters, of which none is defined. */
const MEMBER = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):(?:[ \t]*;[^,]*)?$/;

/**
 * The digests in a field that are of known algorithms. Others are ignored, as RFC 9530 demands. If an algorithm is there twice, the
 * last one counts.
 */
export function parseDigestField(field: string): readonly FieldDigest[] | { readonly fault: string } {
  const found = new Map<string, FieldDigest>();
  for (const member of field.split(',').map((part) => part.trim())) {
    if (member === '' && field.trim() === '') continue;
    const [, name = '', value = ''] = MEMBER.exec(member) ?? [];
    if (name === '') return { fault: `holds '${member.slice(0, 100)}': expected such as sha-256=:BASE64:` };
    if (!isKnown(name)) continue;
    const { hash, bytes } = ALGORITHMS[name];
    const digest = Buffer.from(value, 'base64');
    if (digest.length !== bytes)
      return { fault: `has a ${name} of ${digest.length} bytes in '${member.slice(0, 100)}': expected ${bytes}` };
    found.set(name, { algorithm: name, hash, value: digest.toString('base64') });
  }
  return [...found.values()];
}

const isKnown = (name: string): name is DigestAlgorithm => Object.hasOwn(ALGORITHMS, name);
