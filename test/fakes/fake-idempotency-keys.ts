// Idempotency keys in memory.

import type { IdempotencyKeys, KeptAnswer, KeyClaim, KeyName } from '../../engine/ports/idempotency-keys.ts';

interface FakeKey {
  readonly claim: KeyClaim;
  readonly expiresMs: number;
  readonly kept?: KeptAnswer;
}

export class FakeIdempotencyKeys implements IdempotencyKeys {
  readonly keys = new Map<string, FakeKey>();

  claim: IdempotencyKeys['claim'] = async (claim, { nowMs, untilMs, most }, signal) => {
    signal.throwIfAborted();
    const id = idOf(claim);
    const known = this.keys.get(id);
    const running = known && known.expiresMs > nowMs ? known : undefined;
    if (running?.kept) return { kind: 'answered', ...running.kept };
    if (running) return { kind: 'under way' };
    const others = [...this.keys].filter(
      ([other, key]) => other !== id && key.claim.caller === claim.caller && key.expiresMs > nowMs,
    );
    if (others.length >= most) return { kind: 'too many' };
    this.keys.set(id, { claim, expiresMs: untilMs });
    return { kind: 'claimed' };
  };

  renew: IdempotencyKeys['renew'] = async (claim, untilMs, signal) => {
    signal.throwIfAborted();
    if (this.#held(claim)) this.keys.set(idOf(claim), { claim, expiresMs: untilMs });
    return this.#held(claim);
  };

  answer: IdempotencyKeys['answer'] = async ({ claim, expiresMs, fingerprint, answer }, signal) => {
    signal.throwIfAborted();
    if (!this.#held(claim)) return false;
    this.keys.set(idOf(claim), { claim, expiresMs, kept: { fingerprint, answer } });
    return true;
  };

  release: IdempotencyKeys['release'] = async (claim, signal) => {
    signal.throwIfAborted();
    if (this.#held(claim)) this.keys.delete(idOf(claim));
  };

  dropExpired: IdempotencyKeys['dropExpired'] = async (nowMs, signal) => {
    signal.throwIfAborted();
    const expired = [...this.keys].filter(([, key]) => key.expiresMs <= nowMs);
    for (const [id] of expired) this.keys.delete(id);
    return expired.length;
  };

  #held(claim: KeyClaim): boolean {
    const known = this.keys.get(idOf(claim));
    return known !== undefined && known.claim.holder === claim.holder && known.kept === undefined;
  }
}

const idOf = ({ caller, operation, key }: KeyName): string => JSON.stringify([caller, operation, key]);
