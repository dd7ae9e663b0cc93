// The secret that a plugin host, or another service without users, may share with its callers.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestContext } from '../context.ts';
import { unauthorized } from '../errors.ts';

export interface TokenHolder {
  /** Who needs the token, as a refusal says it. */
  readonly host: string;
  /** Who has it, as the audit trail says it. */
  readonly machine: string;
}

const PLUGIN_HOST_TOKEN: TokenHolder = { host: 'this plugin host', machine: 'plugin host token' };

/** Refuses a request without the token; without a configured one everybody may call. */
export function checkHostToken(
  context: Pick<RequestContext, 'request' | 'concerns'>,
  token: string | undefined,
  { host, machine }: TokenHolder = PLUGIN_HOST_TOKEN,
): void {
  if (token === undefined) return;
  const [, given] = /^Bearer +(\S+)$/i.exec(context.request.headers.authorization ?? '') ?? [];
  if (given === undefined || !timingSafeEqual(digest(given), digest(token)))
    throw unauthorized(`${host} needs its token as Authorization: Bearer`);
  context.concerns({ machine });
}

/** Of one length whatever the secret's, so that the time taken tells nothing of it. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
