// The secret that a plugin host, or another service without users, shares with its callers. Guesses are throttled like those of
// the Admin-Token, with one exception: an address that has sent the right token is never throttled. Otherwise a local account
// that guesses could lock out the real caller on the same machine.

import type { IncomingMessage } from 'node:http';
import { unauthorized } from '../pipeline/errors.ts';
import type { Concerned } from '../pipeline/request-audit.ts';
import type { Route } from '../pipeline/route.ts';
import { sameSecret, type TokenGuesses } from './token-guesses.ts';

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
