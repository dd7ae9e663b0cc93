// Which IP addresses may be fetched from on behalf of a user: those of the public internet, and those that the operator allows.
// The ranges are IANA's special-purpose registries (RFC 6890 and its updates), multicast and reserved space.

import { promises as dns, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';

/** Not globally reachable, so possibly internal, or unused. */
const SPECIAL_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], // this network, unspecified
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by a carrier (CGNAT)
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, metadata services of clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // relays of 6to4
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
];

/** The only IPv6 space that is assigned: addresses outside of it (mapped, link-local, ..) need no list. */
const GLOBAL_V6 = ['2000::', 3] as const;
/** Special ranges within it. 6to4 and Teredo lead to an IPv4 address of the sender's choice, and nobody serves files there. */
const SPECIAL_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23], // protocol assignments, Teredo among them
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4
  ['3fff::', 20], // documentation
];
/** NAT64 maps to the IPv4 address in its last 32 bits. Networks without IPv4 use it to reach public servers. */
const NAT64 = '64:ff9b::';
const NAT64_BITS = 96;

export class FetchableAddresses {
  readonly #allowed = new BlockList();
  readonly #special = new BlockList();
  readonly #global = new BlockList();
  readonly #ports: ReadonlySet<number>;

  /**
   * @param allow ranges like `10.0.0.0/8`, or single addresses, that are always permitted, at any port
   * @param ports permitted ports of all other addresses
   */
  constructor(allow: readonly string[], ports: readonly number[]) {
    this.#ports = new Set(ports);
    for (const range of allow) {
      const [network = '', bits] = range.split('/');
      const family = isIP(network) === 6 ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.#allowed.addAddress(network, family);
      else this.#allowed.addSubnet(network, Number(bits), family);
    }
    for (const [network, bits] of SPECIAL_V4) {
      this.#special.addSubnet(network, bits, 'ipv4');
      this.#special.addSubnet(`${NAT64}${network}`, NAT64_BITS + bits, 'ipv6');
    }
    for (const [network, bits] of SPECIAL_V6) this.#special.addSubnet(network, bits, 'ipv6');
    this.#global.addSubnet(...GLOBAL_V6, 'ipv6');
    this.#global.addSubnet(NAT64, NAT64_BITS, 'ipv6');
  }

  /**
   * False for strings that are not addresses, and for addresses with a zone. Allowed IPv4 ranges include their IPv6-mapped
   * form.
   */
  permit(address: string, port: number): boolean {
    const version = isIP(address);
    if (version === 0 || address.includes('%')) return false;
    const family = version === 6 ? 'ipv6' : 'ipv4';
    if (this.#allowed.check(address, family)) return true;
    if (!this.#ports.has(port)) return false;
    return (version === 4 || this.#global.check(address, family)) && !this.#special.check(address, family);
  }
}

// Connects only to addresses that may be fetched from. A name is resolved here, once, and the connection uses the addresses
// that were checked. So a name that changes its address between check and connection (DNS rebinding) gains nothing.

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
