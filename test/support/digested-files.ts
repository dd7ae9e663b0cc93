// Files with their digests, as listings and manifests have them.

import { hash } from 'node:crypto';
import type { ArchiveObject, StoredArchive } from '../../engine/model/digest.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';

export const digestedFile = (name: string, content: string | Uint8Array): FileEntry => ({
  ...{ name, size: Buffer.byteLength(content) },
  sha256: hash('sha256', content),
});

/** As in a manifest. */
export const digestedArchive = (object: ArchiveObject, content: Uint8Array): Record<string, StoredArchive> => ({
  [object]: { size: content.length, sha256: hash('sha256', content) },
});
