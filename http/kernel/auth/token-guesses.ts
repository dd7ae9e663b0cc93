// Throttles guesses of secrets: the Admin-Token and the tokens of services without users. Every wrong guess is logged, but
// never the token itself. For each address, 20 wrong tokens are checked, then one more every 6 s. Any token beyond that is
// refused with 429 without being checked, even the right one: otherwise guessing would not be slow.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Logger } from '../../../engine/runtime/log.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { tooMany, unauthorized } from '../pipeline/errors.ts';
import type { Concerned } from '../pipeline/request-audit.ts';
import type { Route } from '../pipeline/route.ts';
import { clientAddress, peerOf } from '../server/peer-address.ts';

const AT_ONCE = 20;
const EVERY_MS = 6_000;
/** Upper bound of remembered addresses. The one whose last guess is oldest is forgotten first. */
const MAX_ADDRESSES = 10_000;

interface Guesser {
  /** Tokens that will still be checked, as of `atMs`. */
  readonly left: number;
  readonly atMs: number;
  /** True when the log already has the message that this address is throttled. */
  readonly told: boolean;
}

interface TokenGuessesOptions {
  /** Behind one of our proxies, the address of the proxy's peer counts. */
  readonly isProxy: (address: string) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
  /** Wrong tokens of one address that are checked before it has to wait. Default: 20. */
  readonly atOnce?: number;
}

export class TokenGuesses {
  readonly #options: TokenGuessesOptions;
  readonly #atOnce: number;
  /** By network, in the order of their last guess. */
  readonly #guessers = new Map<string, Guesser>();
  /** Networks that have sent the right token, most recent last. They are never throttled. */
  readonly #callers = new Set<string>();

  constructor(options: TokenGuessesOptions) {
    this.#options = options;
    this.#atOnce = options.atOnce ?? AT_ONCE;
  }

  /** Throws 429 if no token of this address may be checked now. */
  demand(request: IncomingMessage, token = 'Admin-Token'): void {
    const address = this.#addressOf(request);
    const network = peerOf(address);
    const guesser = this.#of(network);
    if (!guesser || guesser.left >= 1) return;
    if (!guesser.told) {
      this.#keep(network, { ...guesser, told: true });
      this.#options.log.warn({ address, token }, 'token guesses are throttled');
    }
    if (this.#callers.has(network)) return;
    const waitSeconds = Math.ceil(((1 - guesser.left) * EVERY_MS) / 1_000);
    throw tooMany(`too many wrong tokens came from this address: ${token}`, waitSeconds);
  }

  /**
   * Counts a wrong token. Not logged for an address without guesses left, which was checked only because it is a known caller.
   */
  wrong(request: IncomingMessage, { method, path }: Pick<Route, 'method' | 'path'>, token = 'Admin-Token'): void {
    const address = this.#addressOf(request);
    const network = peerOf(address);
    const { left, told } = this.#of(network) ?? { left: this.#atOnce, told: false };
    this.#keep(network, { left: Math.max(0, left - 1), atMs: this.#options.clock.now(), told });
    if (left >= 1) this.#options.log.warn({ address, method, route: path, token }, 'a wrong token was refused');
  }

  /** From now on this address is never throttled. */
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

  /** The guesses of a network as of now; undefined if it has all of them left. */
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

/** Compares digests, so that the time it takes reveals nothing about the content or length of the secret. */
export function sameSecret(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

// The secret that a plugin host, or another service without users, shares with its callers. Guesses are throttled like those of
// the Admin-Token, with one exception: an address that has sent the right token is never throttled. Otherwise a local account
// that guesses could lock out the real caller on the same machine.

export interface ServiceToken {
  /** Undefined: anyone may call. */
  readonly secret: string | undefined;
  /** The name of the service in error messages. */
  readonly host: string;
  /** The name of the caller in the audit trail and the log. */
  readonly machine: string;
}

/** Returns the caller for the audit trail. Throws 401 without the token, and 429 while the address is throttled. */
export function checkServiceToken(
  { secret, host, machine }: ServiceToken,
  request: IncomingMessage,
  route: Pick<Route, 'method' | 'path'>,
  guesses: TokenGuesses,
): Concerned {
  if (secret === undefined) return {};
  const refusal = () => unauthorized(`${host} needs its token as Authorization: Bearer`);
  const [, given] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (given === undefined) throw refusal();
  guesses.demand(request, machine);
  if (!sameSecret(given, secret)) {
    guesses.wrong(request, route, machine);
    throw refusal();
  }
  guesses.right(request);
  return { machine };
}
