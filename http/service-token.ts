// The secret that a plugin host, or another service without users, may share with its callers. Guesses of it are held off as
// those of the Admin-Token are, but not where the right one comes from: whoever guesses beside the caller would keep it out.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AdminGuesses } from './admin-guesses.ts';
import { unauthorized } from './errors.ts';
import type { Concerned } from './request-audit.ts';
import type { Route } from './route.ts';

export interface ServiceToken {
  /** Undefined = everybody may call. */
  readonly secret: string | undefined;
  /** Who needs the token, as a refusal says it. */
  readonly host: string;
  /** Who has it, as the audit trail and the log say it. */
  readonly machine: string;
}

/** Throws 401 without the token, and 429 when none from this address is looked at now. Who calls, for the audit trail. */
export function checkServiceToken(
  { secret, host, machine }: ServiceToken,
  request: IncomingMessage,
  route: Pick<Route, 'method' | 'path'>,
  guesses: AdminGuesses,
): Concerned {
  if (secret === undefined) return {};
  const refusal = () => unauthorized(`${host} needs its token as Authorization: Bearer`);
  const [, given] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (given === undefined) throw refusal();
  guesses.demand(request, machine);
  if (!timingSafeEqual(digest(given), digest(secret))) {
    guesses.wrong(request, route, machine);
    throw refusal();
  }
  guesses.right(request);
  return { machine };
}

/** Of one length whatever the secret's, so that the time taken tells nothing of it. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
