// How the adapter is told of a bucket of a server.

import { readFileSync } from 'node:fs';
import type { S3Options } from '../../engine/adapters/s3/s3-connection.ts';
import type { Certificate } from './certificate.ts';

/** Radosgw or MinIO. */
export interface S3Server {
  readonly host: string;
  readonly port: number;
  readonly tlsPort: number;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly certificate: Certificate;
}

export function s3OptionsOf(server: S3Server, bucket: string, how: 'plain' | 'tls' = 'plain'): S3Options {
  const { host, port, tlsPort, accessKey, secretKey, certificate } = server;
  const tls = how === 'tls' ? { ca: readFileSync(certificate.caFile, 'utf8'), rejectUnauthorized: true } : undefined;
  return { host, port: tls ? tlsPort : port, bucket, accessKey, secretKey, tls, region: undefined, pathStyle: true };
}
