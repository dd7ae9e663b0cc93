// Combines the versions of several objects into one, so that comparing them with what a database reflects is one comparison.

import { createHash } from 'node:crypto';
import type { ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';

/** What the combined versions need of an object. */
export type VersionedObject = Pick<ObjectInfo, 'key' | 'etag' | 'modified'>;

/** The version of the shares of a dataset that has none. */
export const NO_SHARES: ObjectVersion = { modified: new Date(0), etag: 'none' };

export const versionOf = ({ modified, etag }: ObjectVersion): ObjectVersion => ({ modified, etag });

/** In sync: modification time and etag are equal. An unknown version is in sync with nothing. */
export function sameVersion(a: ObjectVersion | undefined, b: ObjectVersion | undefined): boolean {
  return a !== undefined && b !== undefined && a.etag === b.etag && a.modified.getTime() === b.modified.getTime();
}

/**
 * One version for metadata and properties together: a change of either makes the installed metadata stale.
 * @param properties in key order
 */
export function combinedVersion(meta: ObjectVersion, properties: readonly VersionedObject[]): ObjectVersion {
  if (properties.length === 0) return meta;
  return versionOfAll([meta, ...properties], meta.etag, properties);
}

/**
 * One version for all offers and receipts of a dataset.
 * @param shares in key order
 */
export function sharesVersion(shares: readonly VersionedObject[]): ObjectVersion {
  return shares.length === 0 ? NO_SHARES : versionOfAll(shares, 'shares', shares);
}

/** A database with no recorded version reflects "no shares". */
export function sharesInSync(known: ObjectVersion | undefined, stored: ObjectVersion): boolean {
  return sameVersion(known ?? NO_SHARES, stored);
}

function versionOfAll(
  versions: readonly ObjectVersion[],
  seed: string,
  files: readonly VersionedObject[],
): ObjectVersion {
  const hash = createHash('sha256').update(seed);
  let newest = 0;
  for (const { modified } of versions) newest = Math.max(newest, modified.getTime());
  for (const file of files) hash.update(`\n${file.key} ${file.etag}`);
  return { modified: new Date(newest), etag: hash.digest('hex') };
}
