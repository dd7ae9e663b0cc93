import t from 'tap';
import { FetchableAddresses } from '../../../engine/adapters/fetchable-addresses.ts';

const none = new FetchableAddresses([]);

t.test('addresses of the public internet may be fetched from', async (t) => {
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '198.17.255.255',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450:4001::1',
    '2003::1',
    '64:ff9b::8.8.8.8',
  ])
    t.equal(none.permit(address), true, address);
});

t.test('no others may', async (t) => {
  for (const address of [
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::8.8.8.8',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:0:127.0.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::8.8.8.8',
    '100::1',
    '2001::1',
    '2001:0:7f00:1::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    '2606:4700::1111%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
  ])
    t.equal(none.permit(address), false, address);
});

t.test('the operator allows ranges and single addresses, mapped ones with them', async (t) => {
  const some = new FetchableAddresses(['10.1.0.0/16', '127.0.0.1', 'fd00:1::/32', '::1']);
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '127.0.0.1', 'fd00:1::5', '::1', '8.8.8.8'])
    t.equal(some.permit(address), true, address);
  for (const address of ['10.2.0.1', '127.0.0.2', 'fd00:2::1', '::ffff:10.2.0.1', '::2'])
    t.equal(some.permit(address), false, address);
});
