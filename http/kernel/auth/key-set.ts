// The issuer's public keys, from its JWKS URL: kept for ten minutes, asked for again when a token names a key that is
// not among them, but no more often than every half minute, and every few seconds while the issuer does not answer.

import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTVerifyGetKey } from 'jose';
import { messageOf, transient } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';

const TIMING = { timeoutDuration: 5_000, cooldownDuration: 30_000, cacheMaxAge: 600_000 };
const AFTER_FAILURE_MS = 5_000;
const MAX_BYTES = 1024 * 1024;

/** A `transient` failure when the keys cannot be read; jose's own errors when none of them is the token's. */
export function keySet(url: string, clock: Clock): JWTVerifyGetKey {
  let quietUntil = 0;
  const patientFetch: FetchImplementation = async (address, options) => {
    // While the issuer is away, every request would ask again and wait.
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

/** The keys are there, and none of them fits the token. */
const isVerdict = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;

/** Like fetch, but fails unless the answer is a 200, and no answer may fill the memory. */
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
