// A certificate authority and a server certificate of it for localhost and 127.0.0.1, made by openssl for one run.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificate {
  /** PEM files. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** @param dir exists; the files are put there */
export function makeCertificate(dir: string): Certificate {
  const at = (name: string): string => join(dir, name);
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' });
  const key = ['-newkey', 'rsa:2048', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...key,
    '-days',
    '30',
    '-subj',
    '/CN=stack-ca',
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.pem'),
  );
  openssl('req', ...key, '-subj', '/CN=localhost', '-keyout', at('key.pem'), '-out', at('csr.pem'));
  writeFileSync(at('extensions'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  openssl(
    ...['x509', '-req', '-in', at('csr.pem'), '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial'],
    ...['-days', '30', '-extfile', at('extensions'), '-out', at('cert.pem')],
  );
  return { caFile: at('ca.pem'), certFile: at('cert.pem'), keyFile: at('key.pem') };
}
