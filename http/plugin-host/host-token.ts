// The secret that a plugin host, or another service without users, may share with its callers.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { unauthorized } from '../errors.ts';

/** Refuses a request without the token; without a configured one everybody may call. `host` names who needs it. */
export function checkHostToken(request: IncomingMessage, token: string | undefined, host = 'this plugin host'): void {
  if (token === undefined) return;
  const [, given] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (given === undefined || !timingSafeEqual(digest(given), digest(token)))
    throw unauthorized(`${host} needs its token as Authorization: Bearer`);
}

/** Of one length whatever the secret's, so that the time taken tells nothing of it. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
