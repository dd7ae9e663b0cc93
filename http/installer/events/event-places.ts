// Bounds how many streams of events a process serves: of one caller, and of all.

import type { Tenant } from '../../../engine/model/ids.ts';
import { tooMany, unavailable } from '../../kernel/pipeline/errors.ts';

export interface StreamLimits {
  readonly perUser: number;
  readonly total: number;
}

const RETRY_SECONDS = 10;

export class EventPlaces {
  readonly #limits: StreamLimits;
  readonly #taken = new Map<Tenant, number>();
  #total = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  get taken(): number {
    return this.#total;
  }

  /** A place, to be disposed when the stream ends. Throws 429 when the caller has none left, 503 when nobody has. */
  take(tenant: Tenant): Disposable {
    const { perUser, total } = this.#limits;
    const taken = this.#taken.get(tenant) ?? 0;
    if (taken >= perUser)
      throw tooMany(`you have ${taken} streams of events open, which is the most allowed at once`, RETRY_SECONDS);
    if (this.#total >= total)
      throw unavailable(`this process serves ${total} streams of events, which is its most`, RETRY_SECONDS);
    this.#taken.set(tenant, taken + 1);
    this.#total++;
    return { [Symbol.dispose]: () => this.#release(tenant) };
  }

  #release(tenant: Tenant): void {
    const left = (this.#taken.get(tenant) ?? 1) - 1;
    if (left === 0) this.#taken.delete(tenant);
    else this.#taken.set(tenant, left);
    this.#total--;
  }
}
