// The peer of a connection, for limits per address: an IPv4 address, or the /64 network of an IPv6 address. Providers assign a
// /64 network to each customer. A proxy has one address for all its clients, so limits per address do not apply to it.

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4 } from 'node:net';

interface ProxySettings {
  /** Trust the headers of a proxy in front of us. */
  readonly trustProxy: boolean;
  /** Addresses and networks of the proxies; undefined = any peer may be one. */
  readonly proxies?: readonly string[] | undefined;
}

const MAPPED = '::ffff:';

/** @param address as Node formats it: IPv6 in short form, IPv4 perhaps mapped into IPv6 */
export function peerOf(address: string): string {
  const plain = unmapped(address);
  if (isIPv4(plain)) return plain;
  const [head = '', tail] = (plain.split('%')[0] ?? '').split('::');
  const groupsOf = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));
  const first = groupsOf(head);
  const last = groupsOf(tail ?? '');
  const all = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  return `${all.slice(0, 4).join(':')}::/64`;
}

/** The address of the client: the peer of the connection or, behind one of our proxies, the proxy's peer. */
export function clientAddress({ headers, socket }: IncomingMessage, isProxy: (address: string) => boolean): string {
  const address = socket.remoteAddress ?? '';
  // A proxy appends the address of its peer. Everything before that comes from the client.
  const seen = isProxy(address)
    ? String(headers['x-forwarded-for'] ?? '')
        .split(',')
        .at(-1)
        ?.trim()
    : undefined;
  return unmapped(seen !== undefined && isIP(seen) !== 0 ? seen : address);
}

/** Returns a function that tells whether an address is that of one of our proxies. */
export function proxyCheck({ trustProxy, proxies }: ProxySettings): (address: string) => boolean {
  if (!trustProxy) return () => false;
  if (!proxies) return () => true;
  const list = new BlockList();
  for (const one of proxies) {
    const [address = '', prefix] = one.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => {
    const plain = unmapped(address);
    return list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
  };
}

const unmapped = (address: string): string =>
  address.startsWith(MAPPED) && isIPv4(address.slice(MAPPED.length)) ? address.slice(MAPPED.length) : address;
