// The issuer's public keys, from its JWKS URL. They are cached for ten minutes. When a token names an unknown key, they are
// fetched again, at most every 30 s. While the issuer does not answer, they are requested at most every 5 s.

import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTVerifyGetKey } from 'jose';
import { messageOf, transient } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';

const TIMING = { timeoutDuration: 5_000, cooldownDuration: 30_000, cacheMaxAge: 600_000 };
const AFTER_FAILURE_MS = 5_000;
const MAX_BYTES = 1024 * 1024;

/** Rejects with a `transient` failure when the keys cannot be read, and with jose's own errors when no key fits the token. */
export function keySet(url: string, clock: Clock): JWTVerifyGetKey {
  let quietUntil = 0;
  const patientFetch: FetchImplementation = async (address, options) => {
    // Otherwise every request would wait for an issuer that does not answer.
    if (clock.now() < quietUntil) throw new Error('it did not answer a moment ago');
    try {
      return await boundedFetch(address, options);
    } catch (error) {
      quietUntil = clock.now() + AFTER_FAILURE_MS;
      throw error;
    }
  };
  const remote = createRemoteJWKSet(new URL(url), { ...TIMING, [customFetch]: patientFetch });
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      if (isVerdict(error)) throw error;
      throw transient(`the token issuer's keys cannot be read from ${url}: ${messageOf(error)}`, { cause: error });
    }
  };
}

/** True when the keys could be read, but none fits the token. */
const isVerdict = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;

/** Like fetch, but fails unless the status is 200 and the body is small enough. */
const boundedFetch: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options);
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new Error(`the key set is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status: 200 });
};
