// Digests of content: SHA-256 in hex as we keep them, and the fields `Content-Digest` and `Repr-Digest` (RFC 9530).

import { defect } from '../runtime/failure.ts';

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

// Digests of stored archives and of the files in them.

export const ARCHIVE_OBJECTS = ['import-ready.zip', 'install-ready.zip'] as const;
export type ArchiveObject = (typeof ARCHIVE_OBJECTS)[number];

export interface StoredArchive {
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}

/** SHA-256 digests in hex. */
export interface ArchiveDigests {
  /** Of the archive file. */
  readonly archive: string;
  /** Of the files before compression, in the archive's order. */
  readonly files: readonly string[];
}

/** Files of an archive of ours, and the archive itself, with the digests that were computed when it was written. */
export function digested<File extends object>(
  files: readonly File[],
  { bytes, digests }: { readonly bytes: number; readonly digests?: ArchiveDigests },
): { readonly files: readonly (File & { readonly sha256: string })[]; readonly zip: StoredArchive } {
  if (digests?.files.length !== files.length) throw defect('an archive has no digests of its files');
  const sums = digests.files;
  return {
    files: files.map((file, i) => ({ ...file, sha256: sums[i] ?? '' })),
    zip: { size: bytes, sha256: digests.archive },
  };
}
