import t from 'tap';
import { FetchableAddresses } from '../../../../engine/adapters/remote/fetchable-addresses.ts';

const none = new FetchableAddresses([], [443]);

/** The highest IPv6 address that begins so. */
const highest = (head: string): string => head + ':ffff'.repeat(8 - head.split(':').length);

/** First and last address of each range that is not public, between those beside it, where these are. */
const RANGES: readonly (readonly [
  before: string | undefined,
  first: string,
  last: string,
  after: string | undefined,
])[] = [
  [undefined, '0.0.0.0', '0.255.255.255', '1.0.0.0'],
  ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
  ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
  ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
  ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
  ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
  ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
  ['192.0.1.255', '192.0.2.0', '192.0.2.255', '192.0.3.0'],
  ['192.88.98.255', '192.88.99.0', '192.88.99.255', '192.88.100.0'],
  ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
  ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
  ['198.51.99.255', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
  ['203.0.112.255', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
  ['223.255.255.255', '224.0.0.0', '255.255.255.255', undefined],
  [undefined, '::', highest('1fff'), '2000::'],
  [highest('2000'), '2001::', highest('2001:1ff'), '2001:200::'],
  [highest('2001:db7'), '2001:db8::', highest('2001:db8'), '2001:db9::'],
  [highest('2001'), '2002::', highest('2002'), '2003::'],
  [highest('3ffe'), '3fff::', highest('3fff:fff'), '3fff:1000::'],
  [highest('3fff'), '4000::', highest('ffff'), undefined],
];

t.test('addresses of the public internet may be fetched from', async (t) => {
  const beside = RANGES.flatMap(([before, _first, _last, after]) => [before, after]).filter((one) => one !== undefined);
  for (const address of ['8.8.8.8', '2606:4700::1111', '2a00:1450:4001::1', '64:ff9b::8.8.8.8', ...beside])
    t.equal(none.permit(address, 443), true, address);
});

t.test('no others may', async (t) => {
  for (const address of [
    ...RANGES.flatMap(([_before, first, last]) => [first, last]),
    // As metadata services of clouds have them, and reserved ones below the highest.
    ...['169.254.169.254', '239.255.255.255', '240.0.0.1'],
    // In other ways to write an IPv4 address, and ways to one.
    ...['::1', '::127.0.0.1', '::8.8.8.8', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:8.8.8.8'],
    ...['::ffff:0:127.0.0.1', '64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::8.8.8.8', '2001:0:7f00:1::1'],
    ...['2002:7f00:1::', '2002:808:808::1'],
    // Discarded, of a site, of a link, of a group.
    ...['100::1', '5f00::1', 'fc00::1', 'fd12:3456::1', 'fe80::1', 'fec0::1', 'ff02::1'],
    ...['fe80::1%eth0', '2606:4700::1111%eth0', 'localhost', ''],
  ])
    t.equal(none.permit(address, 443), false, address);
});

t.test('the operator allows ranges and single addresses, mapped ones with them', async (t) => {
  const some = new FetchableAddresses(['10.1.0.0/16', '127.0.0.1', 'fd00:1::/32', '::1'], [443]);
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '127.0.0.1', 'fd00:1::5', '::1', '8.8.8.8'])
    t.equal(some.permit(address, 443), true, address);
  for (const address of ['10.2.0.1', '127.0.0.2', 'fd00:2::1', '::ffff:10.2.0.1', '::2'])
    t.equal(some.permit(address, 443), false, address);
});

t.test('a public address is fetched from at its ports alone, one that is allowed at any', async (t) => {
  const addresses = new FetchableAddresses(['10.1.0.0/16'], [80, 443]);
  t.strictSame(
    [80, 443, 22, 5432].map((port) => [addresses.permit('8.8.8.8', port), addresses.permit('10.1.2.3', port)]),
    [
      [true, true],
      [true, true],
      [false, true],
      [false, true],
    ],
  );
});
