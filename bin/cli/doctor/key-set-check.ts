// Checks the key set of the issuer of the bearer tokens.

import { type Check, fault } from './check.ts';
import { networkFix } from './error-codes.ts';
import { httpAnswer } from './http-answer.ts';

const KEY = 'containerCore.authentication.oauth.jwksUrl';

export const keySetCheck = (url: string): Check => ({
  name: 'token issuer',
  where: new URL(url).host,
  tried: 'fetch its key set',
  async look(signal) {
    const answer = await httpAnswer(url, 5, signal);
    const keys = answer.status === 200 ? keysOf(answer.json) : undefined;
    if (keys === undefined)
      return {
        problems: [
          fault(
            `it responds with ${answer.status} and no key set`,
            `correct ${KEY}; the issuer's discovery document names it as jwks_uri`,
          ),
        ],
      };
    return keys === 0
      ? { problems: [fault('its key set is empty', 'check the issuer: no token can be verified')] }
      : { says: `${keys} key${keys === 1 ? '' : 's'}`, problems: [] };
  },
  explain: (error) =>
    networkFix(error, { server: 'the issuer', key: KEY, tls: { switch: KEY, options: 'NODE_EXTRA_CA_CERTS' } }) ??
    `check ${KEY}`,
});

function keysOf(document: unknown): number | undefined {
  const keys = (document as { readonly keys?: unknown } | undefined)?.keys;
  return Array.isArray(keys) ? keys.length : undefined;
}
