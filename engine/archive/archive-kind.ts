// The format of a file, by its first bytes or by its name.

import { open } from 'node:fs/promises';

export type ArchiveKind = 'zip' | 'empty zip' | 'split zip' | 'gzip';

/** How many bytes {@link detectArchive} needs. */
export const MAGIC_BYTES = 4;

/** By magic bytes; undefined for any other content, whatever the name. */
export function detectArchive(start: Uint8Array): ArchiveKind | undefined {
  const [first, second, third, fourth] = start;
  if (first === 0x1f && second === 0x8b) return 'gzip';
  if (first !== 0x50 || second !== 0x4b) return undefined;
  if (third === 3 && fourth === 4) return 'zip';
  if (third === 5 && fourth === 6) return 'empty zip';
  if (third === 7 && fourth === 8) return 'split zip';
  return undefined;
}

export async function detectArchiveFile(file: string): Promise<ArchiveKind | undefined> {
  await using handle = await open(file, 'r');
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0);
  return detectArchive(buffer.subarray(0, bytesRead));
}

/** The archive format by a file's name (`.zip`, `.tar.gz`, `.tgz`, in any case). */
export function archiveByName(name: string): 'zip' | 'tar.gz' | undefined {
  const lower = name.toLowerCase();
  if (lower.endsWith('.zip')) return 'zip';
  return lower.endsWith('.tar.gz') || lower.endsWith('.tgz') ? 'tar.gz' : undefined;
}
