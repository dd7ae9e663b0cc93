import type { IncomingMessage } from 'node:http';
import t from 'tap';
import { clientAddress, peerOf, proxyCheck } from '../../../../http/kernel/server/peer-address.ts';

t.test('an IPv4 address counts alone, an IPv6 address with its /64 network', async (t) => {
  for (const [address, peer] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::3:4:5:6', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ] as const)
    t.equal(peerOf(address), peer, address);
});

t.test('nobody is a proxy, everybody, or those that are listed', async (t) => {
  const addresses = ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.7', 'fd00::1', '2001:db8::1'];
  const which = (settings: Parameters<typeof proxyCheck>[0]) => addresses.filter(proxyCheck(settings));
  t.same(which({ trustProxy: false, proxies: ['10.0.0.0/8'] }), []);
  t.same(which({ trustProxy: true }), addresses);
  t.same(which({ trustProxy: true, proxies: ['10.0.0.0/8', 'fd00::/8'] }), ['10.1.2.3', '::ffff:10.1.2.3', 'fd00::1']);
  t.same(which({ trustProxy: true, proxies: ['192.0.2.7'] }), ['192.0.2.7']);
});

t.test('a request comes from the other end of its connection, or from where our proxy saw it', async (t) => {
  const from = (remoteAddress: string, forwarded: string | undefined, isProxy: boolean) =>
    clientAddress(
      { headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress } } as unknown as IncomingMessage,
      () => isProxy,
    );
  t.equal(from('::ffff:192.0.2.7', '198.51.100.1', false), '192.0.2.7', 'whoever is no proxy may write what he likes');
  t.equal(from('10.0.0.1', '198.51.100.1, 2001:db8::1', true), '2001:db8::1', 'the last is what the proxy saw');
  t.equal(from('10.0.0.1', undefined, true), '10.0.0.1');
  t.equal(from('10.0.0.1', 'unknown', true), '10.0.0.1');
});
