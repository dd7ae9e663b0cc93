// `installer.objectStore`: the truth about datasets. The contract's form (S3, MinIO) or our directory driver.

import { driver, flag, formed, openAddress, optional, secret, section, text, union } from './field.ts';
import type { Loaded } from './loaded.ts';
import { tlsOptions } from './tls.ts';

export const S3_PORTS = { tls: 443, plain: 80 } as const;

const s3 = section('S3, MinIO or Ceph.', {
  driver: driver('s3', { isDefault: true }),
  bucketName: text('Bucket; it must exist.', { minLength: 1 }),
  server: openAddress(`Server. The port defaults to ${S3_PORTS.tls} with HTTPS, ${S3_PORTS.plain} without.`),
  https: flag('Encrypt connections with TLS.', true),
  tlsOptions,
  accessToken: secret('Access key.', 3),
  secretKey: secret('Secret key.', 8),
  region: optional(text("Region of the bucket. Default: the server's answer to GetBucketLocation.", { minLength: 1 })),
  pathStyle: flag("False puts the bucket's name before the host's. Amazon's own host always works so.", true),
});
export type S3Configuration = Loaded<typeof s3>;

const directory = section('A directory of this machine: for installations without an S3 store.', {
  driver: driver('directory'),
  path: formed<string>('path', 'Directory; made when it is missing. Relative paths start at the configuration file.'),
});
export type DirectoryStoreConfiguration = Loaded<typeof directory>;

export const objectStore = union('Where every dataset is kept.', [s3, directory]);
export type ObjectStoreConfiguration = Loaded<typeof objectStore>;
