// How the adapter is told of a bucket of radosgw.

import { readFileSync } from 'node:fs';
import type { S3Options } from '../../engine/adapters/s3/s3-connection.ts';
import type { Radosgw } from './radosgw.ts';

export function s3OptionsOf(radosgw: Radosgw, bucket: string, how: 'plain' | 'tls' = 'plain'): S3Options {
  const { host, port, tlsPort, accessKey, secretKey, certificate } = radosgw;
  const tls = how === 'tls' ? { ca: readFileSync(certificate.caFile, 'utf8'), rejectUnauthorized: true } : undefined;
  return { host, port: tls ? tlsPort : port, bucket, accessKey, secretKey, tls, region: undefined, pathStyle: true };
}
