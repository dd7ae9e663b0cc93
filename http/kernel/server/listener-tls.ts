// TLS of a listener: 1.3, and of 1.2 what has forward secrecy and authenticated encryption. Every client that is still
// maintained speaks one of these.

import type { TlsOptions } from 'node:tls';

export interface Certificate {
  /** PEM of the chain. */
  readonly cert: string;
  readonly key: string;
}

const CIPHERS = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
].join(':');

export const listenerTls = (certificate: Certificate, handshakeTimeoutMs: number): TlsOptions => ({
  ...certificate,
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS,
  honorCipherOrder: true,
  handshakeTimeout: handshakeTimeoutMs,
});
