// The read half of the configured object store; every worker thread opens its own.

import type { Configuration } from '../../config/configuration.ts';
import { openDirectoryReader } from '../../engine/adapters/directory/directory-store-reader.ts';
import type { S3Options } from '../../engine/adapters/s3/s3-connection.ts';
import type { ObjectReader } from '../../engine/ports/object-store.ts';
import { ConfigurationError } from '../cli/command.ts';
import { verification } from './verification.ts';

/** What a thread needs to open its reader: plain data, which can cross the thread boundary. */
export type StoreData =
  | { readonly driver: 'directory'; readonly path: string }
  | { readonly driver: 's3'; readonly options: S3Options };

type Section = Configuration['installer']['objectStore'];

/** Bucket names that all stores accept; they become part of paths and host names. */
const BUCKET = /^(?!\d+(?:\.\d+){3}$)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

export function storeData(section: Section): StoreData {
  return section.driver === 'directory'
    ? { driver: 'directory', path: section.path }
    : { driver: 's3', options: s3Options(section) };
}

/** `data` is undefined for a thread whose tasks read no objects, such as those of a plugin host. */
export async function openStoreReader(data: StoreData | undefined): Promise<ObjectReader & Partial<Disposable>> {
  if (data?.driver !== 's3') return openDirectoryReader(data?.path ?? '/nonexistent');
  return (await import('../../engine/adapters/s3/s3-reader.ts')).openS3Reader(data.options);
}

function s3Options(section: Extract<Section, { readonly driver: 's3' }>): S3Options {
  const { bucketName, server, https, tlsOptions, accessToken, secretKey, region, pathStyle } = section;
  if (!BUCKET.test(bucketName))
    throw new ConfigurationError(
      `installer.objectStore.bucketName: '${bucketName}' is not a valid bucket name: 3 to 63 lowercase letters, digits, '-' and '.'`,
    );
  return {
    host: server.host,
    port: server.port,
    bucket: bucketName,
    accessKey: accessToken,
    secretKey,
    tls: https ? verification(tlsOptions) : undefined,
    region,
    pathStyle,
  };
}
