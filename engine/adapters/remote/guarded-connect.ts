// Connects only to addresses that may be fetched from. A name is resolved here, once, and the connection uses the addresses
// that were checked. So a name that changes its address between check and connection (DNS rebinding) gains nothing.

import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { FetchableAddresses } from './fetchable-addresses.ts';

/** Resolves a name to all its addresses. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Uses the system's resolver, including /etc/hosts. */
export const resolveBySystem: Resolve = (hostname) => dns.lookup(hostname, { all: true });

/** Thrown instead of connecting. */
export class AddressRefused extends Error {
  readonly hostname: string;

  constructor(hostname: string) {
    // Does not contain the address: callers must not learn how a name resolves inside our network.
    super(`${hostname} has an address that may not be fetched from`);
    this.name = 'AddressRefused';
    this.hostname = hostname;
  }
}

export function guardedConnector(
  addresses: FetchableAddresses,
  resolve: Resolve,
  connectMs: number,
): buildConnector.connector {
  const resolved = async (hostname: string, port: number): Promise<readonly LookupAddress[]> => {
    const found = await resolve(hostname).catch((error: NodeJS.ErrnoException) => {
      // Reports the same error as for an internal name, so that callers cannot find out which internal names exist.
      throw error.code === 'ENOTFOUND' ? new AddressRefused(hostname) : error;
    });
    // One forbidden address is enough, because we do not control which address is used.
    if (found.some(({ address }) => !addresses.permit(address, port))) throw new AddressRefused(hostname);
    return found;
  };
  // Returns all addresses, as `autoSelectFamily` requires.
  const lookupFor =
    (port: number): LookupFunction =>
    (hostname, _options, done) => {
      resolved(hostname, port).then(
        (found) => done(null, [...found]),
        (error: NodeJS.ErrnoException) => done(error, ''),
      );
    };
  return (options, callback) => {
    const port = Number(options.port || (options.protocol === 'https:' ? 443 : 80));
    // An IP address in the URL is not looked up.
    if (isIP(options.hostname) !== 0 && !addresses.permit(options.hostname, port))
      return callback(new AddressRefused(options.hostname), null);
    const lookup = lookupFor(port);
    return buildConnector({ timeout: connectMs, allowH2: false, autoSelectFamily: true, lookup })(options, callback);
  };
}
