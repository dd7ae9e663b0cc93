// Connects only to addresses that may be fetched from. A name is resolved here, once, and what was checked is what is
// connected to: a name that changes its address between a check and a connection gains nothing by it.

import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { FetchableAddresses } from './fetchable-addresses.ts';

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** As the system resolves: with /etc/hosts. */
export const resolveBySystem: Resolve = (hostname) => dns.lookup(hostname, { all: true });

/** Thrown instead of connecting. */
export class AddressRefused extends Error {
  readonly hostname: string;

  constructor(hostname: string) {
    // Not the address: whoever asks need not learn what a name means inside our network.
    super(`${hostname} has an address that must not be fetched from`);
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
      // Whether a name is there, but only for us, is told to nobody.
      throw error.code === 'ENOTFOUND' ? new AddressRefused(hostname) : error;
    });
    // One bad address among good ones is bad: which of them is taken is not ours to say.
    if (found.some(({ address }) => !addresses.permit(address, port))) throw new AddressRefused(hostname);
    return found;
  };
  // Asked for all addresses, since that is what `autoSelectFamily` tries in turn.
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
    // An address in the URL is not looked up.
    if (isIP(options.hostname) !== 0 && !addresses.permit(options.hostname, port))
      return callback(new AddressRefused(options.hostname), null);
    const lookup = lookupFor(port);
    return buildConnector({ timeout: connectMs, allowH2: false, autoSelectFamily: true, lookup })(options, callback);
  };
}
