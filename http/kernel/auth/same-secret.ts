// Compares secrets in constant time.

import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares digests, so that the time taken says nothing about the content or the length of the secret. */
export function sameSecret(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
