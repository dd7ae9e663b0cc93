// Limits requests per minute, per user and per address. Off unless configured (`http.rateLimit`). Each process counts for itself.
// Each key has a token bucket: a minute's requests may come at once, and the bucket refills evenly over a minute. Responses have
// the `RateLimit` and `RateLimit-Policy` headers of draft-ietf-httpapi-ratelimit-headers.

import type { OutgoingMessage } from 'node:http';
import type { Clock } from '../../../engine/runtime/time.ts';
import { tooMany } from './errors.ts';

export interface RateLimits {
  /** Requests per minute of one user or guest; absent = no limit. Operators and administrators have none. */
  readonly perUser?: number | undefined;
  /** Requests per minute from one IPv4 address or one IPv6 /64 network, before authentication. */
  readonly perAddress?: number | undefined;
}

const WINDOW_SECONDS = 60;
/** Most keys that are remembered. The key with the oldest last request is forgotten first. */
const MAX_KEYS = 10_000;

interface Allowance {
  /** Requests that may be sent now, as of `atMs`. */
  readonly left: number;
  readonly atMs: number;
}

type Policy = 'user' | 'address';

export class RateLimit {
  readonly #policies: ReadonlyMap<Policy, Allowances>;

  constructor({ perUser, perAddress }: RateLimits, clock: Clock) {
    const quotas = [
      ['user', perUser],
      ['address', perAddress],
    ] as const;
    this.#policies = new Map(
      quotas.flatMap(([policy, quota]) =>
        quota === undefined ? [] : [[policy, new Allowances(quota, clock)] as const],
      ),
    );
  }

  /** Counts a request and sets the headers of its response. Throws 429 when there are no requests left. */
  count(policy: Policy, key: string, response: Pick<OutgoingMessage, 'setHeader'>): void {
    const allowances = this.#policies.get(policy);
    if (!allowances) return;
    const { quota } = allowances;
    const left = allowances.take(key);
    const seconds = (missing: number): number => Math.ceil((missing * WINDOW_SECONDS) / quota);
    response.setHeader('ratelimit-policy', `"${policy}";q=${quota};w=${WINDOW_SECONDS}`);
    response.setHeader('ratelimit', `"${policy}";r=${Math.max(0, Math.floor(left))};t=${seconds(quota - left)}`);
    if (left >= 0) return;
    const who = policy === 'user' ? 'you' : 'your address';
    throw tooMany(`too many requests from ${who}: ${quota} per minute are allowed`, Math.max(1, seconds(-left)));
  }
}

class Allowances {
  readonly quota: number;
  readonly #clock: Clock;
  /** In the order of their last request. */
  readonly #byKey = new Map<string, Allowance>();

  constructor(quota: number, clock: Clock) {
    this.quota = quota;
    this.#clock = clock;
  }

  /** What is left after this request; below 0 if it must be refused. A refused request costs nothing. */
  take(key: string): number {
    const atMs = this.#clock.now();
    const known = this.#byKey.get(key) ?? { left: this.quota, atMs };
    const elapsed = Math.max(0, atMs - known.atMs);
    const now = Math.min(this.quota, known.left + (elapsed * this.quota) / (WINDOW_SECONDS * 1_000));
    const left = now - 1;
    this.#byKey.delete(key);
    const oldest = this.#byKey.keys().next();
    if (this.#byKey.size >= MAX_KEYS && !oldest.done) this.#byKey.delete(oldest.value);
    this.#byKey.set(key, { left: left < 0 ? now : left, atMs });
    return left;
  }
}
