// Who the bearers of tokens are that were verified a moment ago: to check a signature takes longer than most requests do
// otherwise. A token is believed for a minute at most, and never after it expires, so a key that its issuer withdraws
// counts for a minute more. Refusals are not kept.

import { hash } from 'node:crypto';
import type { Caller } from './caller.ts';

const BELIEVED_MS = 60_000;
const MAX_KNOWN = 10_000;

interface Known {
  readonly caller: Caller;
  readonly untilMs: number;
}

export class TokenMemory {
  /** By hash: tokens may be long, and should not lie about in memory. In order of age. */
  readonly #known = new Map<string, Known>();

  find(token: string, nowMs: number): Caller | undefined {
    const key = hashOf(token);
    const known = this.#known.get(key);
    if (!known || nowMs < known.untilMs) return known?.caller;
    this.#known.delete(key);
    return undefined;
  }

  /** @param expiresMs when the token is no longer accepted */
  keep(token: string, caller: Caller, nowMs: number, expiresMs: number): void {
    const oldest = this.#known.keys().next();
    if (this.#known.size >= MAX_KNOWN && !oldest.done) this.#known.delete(oldest.value);
    this.#known.set(hashOf(token), { caller, untilMs: Math.min(expiresMs, nowMs + BELIEVED_MS) });
  }

  get size(): number {
    return this.#known.size;
  }
}

const hashOf = (token: string): string => hash('sha256', token, 'base64');
