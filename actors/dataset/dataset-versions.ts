// Combines the versions of several objects into one, so that comparing them with what a database reflects is one comparison.

import { createHash } from 'node:crypto';
import type { ObjectVersion } from '../../engine/ports/catalog.ts';
import type { InstalledState } from '../../engine/ports/install-target.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';

/** What the combined versions need of an object. */
type VersionedObject = Pick<ObjectInfo, 'key' | 'etag' | 'modified'>;

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

// What an install target's copy of a dataset still needs, derived from the control DB's state and the store's versions. Pure.

/**
 * The data must be installed: never attempted, interrupted, ordered, or installed from an older import. A failure waits for a
 * person or, where a dependency is missing, for a full run.
 */
export function dataAreDue(state: InstalledState, version: ObjectVersion): boolean {
  const status = state.messages.data?.status;
  switch (status) {
    case undefined:
    case 'queued':
    case 'running':
    case 'ready-for-reinstall':
      return true;
    case 'complete':
    case 'failed-validation':
      return !sameVersion(state.sync.data, version);
    case 'failed-installation':
    case 'missing-dependency':
      return false;
    default:
      return status satisfies never;
  }
}

/** The plugin gave a final result for exactly this version of metadata and properties. */
export function metaIsCurrent(state: InstalledState, version: ObjectVersion): boolean {
  const status = state.messages.meta?.status;
  const final = status === 'complete' || status === 'failed-validation' || status === 'failed-installation';
  return final && sameVersion(state.sync.meta, version);
}

/** The data are installed and visible, so the site needs the metadata too. */
export const isInstalled = (state: InstalledState): boolean =>
  state.deletedStatus === 0 && state.messages.data?.status === 'complete';

/** Nothing of the dataset is on the target any more, or ever was. */
export const isUninstalled = (state: InstalledState): boolean => !state.present || state.deletedStatus === 1;
