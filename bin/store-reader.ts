// The reading half of the object store that the configuration names, as every worker thread opens its own.

import type { Configuration } from '../config/configuration.ts';
import { type ObjectReader, openDirectoryReader } from '../engine/adapters/directory-store-reader.ts';
import { ConfigurationError } from './configuration-error.ts';

/** What a thread needs to open its reader: plain data, which crosses the thread boundary. */
export type StoreData = { readonly driver: 'directory'; readonly path: string };

/** What this version has no adapter for is refused by its key. */
export function storeData(section: Configuration['installer']['objectStore']): StoreData {
  if (section.driver !== 'directory')
    throw new ConfigurationError(
      `installer.objectStore: this version has no ${section.driver} adapter; use \`driver: directory\``,
    );
  return { driver: section.driver, path: section.path };
}

/** Undefined for a thread whose tasks read no objects, such as those of a plugin host alone. */
export function openStoreReader(data: StoreData | undefined): ObjectReader {
  return openDirectoryReader(data?.path ?? '/nonexistent');
}
