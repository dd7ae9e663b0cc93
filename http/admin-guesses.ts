// Wrong Admin-Tokens, and tokens of services without users: each is logged, and an address that sends many is not listened to for a while. Of one address, 20 are
// looked at, and one more every 6 s. Tokens that come beyond that are answered 429 unread, right ones too: that is what makes
// guessing slow. The token itself is never logged.

import type { IncomingMessage } from 'node:http';
import type { Logger } from '../engine/log.ts';
import type { Clock } from '../engine/time.ts';
import { tooMany } from './errors.ts';
import { clientAddress, peerOf } from './peer-address.ts';
import type { Route } from './route.ts';

const AT_ONCE = 20;
const EVERY_MS = 6_000;
/** Addresses that are remembered; who guessed longest ago is forgotten first. */
const MAX_ADDRESSES = 10_000;

interface Guesser {
  /** Tokens that will be looked at, as of then. */
  readonly left: number;
  readonly atMs: number;
  /** It was told in the log that it is held off. */
  readonly told: boolean;
}

export interface AdminGuessesOptions {
  /** Of our proxies the address that they saw counts. */
  readonly isProxy: (address: string) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
  /** Wrong tokens of one address that are looked at before it has to wait; default 20. */
  readonly atOnce?: number;
}

export class AdminGuesses {
  readonly #options: AdminGuessesOptions;
  readonly #atOnce: number;
  /** By network, in order of their last guesses. */
  readonly #guessers = new Map<string, Guesser>();
  /** Networks that callers with the right token came from, the last one last; their wrong ones do not hold off. */
  readonly #callers = new Set<string>();

  constructor(options: AdminGuessesOptions) {
    this.#options = options;
    this.#atOnce = options.atOnce ?? AT_ONCE;
  }

  /** Throws 429 when no token of this address is looked at now. */
  demand(request: IncomingMessage, token = 'Admin-Token'): void {
    const address = this.#addressOf(request);
    const network = peerOf(address);
    const guesser = this.#of(network);
    if (!guesser || guesser.left >= 1) return;
    if (!guesser.told) {
      this.#keep(network, { ...guesser, told: true });
      this.#options.log.warn({ address, token }, 'guesses of a token are held off');
    }
    if (this.#callers.has(network)) return;
    const waitSeconds = Math.ceil(((1 - guesser.left) * EVERY_MS) / 1_000);
    throw tooMany(`too many wrong tokens came from this address: ${token}`, waitSeconds);
  }

  /** A wrong one that is looked at although its address has sent too many is not logged. */
  wrong(request: IncomingMessage, { method, path }: Pick<Route, 'method' | 'path'>, token = 'Admin-Token'): void {
    const address = this.#addressOf(request);
    const network = peerOf(address);
    const { left, told } = this.#of(network) ?? { left: this.#atOnce, told: false };
    this.#keep(network, { left: Math.max(0, left - 1), atMs: this.#options.clock.now(), told });
    if (left >= 1) this.#options.log.warn({ address, method, route: path, token }, 'a wrong token was refused');
  }

  /** From now on the address is listened to, whatever else comes from it. */
  right(request: IncomingMessage): void {
    const network = peerOf(this.#addressOf(request));
    this.#callers.delete(network);
    const [oldest] = this.#callers;
    if (this.#callers.size >= MAX_ADDRESSES && oldest !== undefined) this.#callers.delete(oldest);
    this.#callers.add(network);
  }

  get size(): number {
    return this.#guessers.size;
  }

  #addressOf(request: IncomingMessage): string {
    return clientAddress(request, this.#options.isProxy);
  }

  /** As of now; undefined when it has all its guesses. */
  #of(network: string): Guesser | undefined {
    const known = this.#guessers.get(network);
    if (!known) return undefined;
    const nowMs = this.#options.clock.now();
    const left = known.left + (nowMs - known.atMs) / EVERY_MS;
    if (left < this.#atOnce) return { left, atMs: nowMs, told: known.told };
    this.#guessers.delete(network);
    return undefined;
  }

  #keep(network: string, guesser: Guesser): void {
    this.#guessers.delete(network);
    const oldest = this.#guessers.keys().next();
    if (this.#guessers.size >= MAX_ADDRESSES && !oldest.done) this.#guessers.delete(oldest.value);
    this.#guessers.set(network, guesser);
  }
}
