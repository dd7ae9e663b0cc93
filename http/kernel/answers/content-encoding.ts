// Which encodings of a body the client accepts.

import type { IncomingMessage } from 'node:http';

/** True if the request names the encoding, and not with a quality of 0. */
export const accepts = ({ headers }: IncomingMessage, encoding: 'gzip' | 'br'): boolean =>
  ACCEPTED[encoding].test(String(headers['accept-encoding'] ?? ''));

const ACCEPTED = {
  gzip: /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i,
  br: /\bbr\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i,
};
