import fc from 'fast-check';
import t from 'tap';
import {
  ADDRESS_PATTERN,
  formatAddress,
  isCidr,
  parseAddress,
  parseAddressCsv,
  parseBindHost,
  parseHost,
} from '../../config/address.ts';

const label = 'a'.repeat(63);
const longest = `${label}.${label}.${label}.${'b'.repeat(61)}`;

t.test('reads host and host:port', async (t) => {
  t.same(parseAddress('db'), { host: 'db' });
  t.same(parseAddress('db.example.org:5432'), { host: 'db.example.org', port: 5432 });
  t.same(parseAddress('10.0.0.1:1'), { host: '10.0.0.1', port: 1 });
  t.same(parseAddress('x:65535'), { host: 'x', port: 65_535 });
  t.same(parseAddress('[::1]:80'), { host: '::1', port: 80 });
  t.same(parseAddress('[2001:db8::1]'), { host: '2001:db8::1' });
  t.same(parseAddress(`${longest}:80`), { host: longest, port: 80 });
  t.equal(longest.length, 253);
});

t.test('refuses what is no address', async (t) => {
  const texts = [
    '',
    ':80',
    'x:',
    'x:0',
    'x:65536',
    'x:080',
    'x:8a',
    'x:80:80',
    '-x',
    '.x',
    'x..y',
    'x.',
    'a_b',
    'a b',
    'ä',
    '::1',
    '[x]',
    '[::1',
    '[:::]',
    '[]',
    'http://x',
    'x/y',
    `${'a'.repeat(64)}`,
    `a.${'b'.repeat(64)}`,
    `${longest}c`,
    'x\n',
  ];
  for (const text of texts) t.equal(parseAddress(text), undefined, JSON.stringify(text));
});

t.test('a list of addresses is all or nothing', async (t) => {
  t.same(parseAddressCsv('a:1, b ,[::1]:3'), [{ host: 'a', port: 1 }, { host: 'b' }, { host: '::1', port: 3 }]);
  t.equal(parseAddressCsv('a:1,'), undefined);
  t.equal(parseAddressCsv(''), undefined);
  t.equal(parseAddressCsv('a,b_c'), undefined);
});

t.test('a host has no port', async (t) => {
  t.equal(parseHost('x.example.org'), 'x.example.org');
  t.equal(parseHost('[::1]'), '::1');
  t.equal(parseHost('x:80'), undefined);
  t.equal(parseHost('[1.2.3.4]'), undefined);
});

t.test('a listener may bind to a bare IPv6 address', async (t) => {
  t.equal(parseBindHost('::'), '::');
  t.equal(parseBindHost('0.0.0.0'), '0.0.0.0');
  t.equal(parseBindHost('localhost'), 'localhost');
  t.equal(parseBindHost('a_b'), undefined);
});

t.test('knows ranges of addresses', async (t) => {
  for (const text of ['10.0.0.0/8', '127.0.0.1', '0.0.0.0/0', '1.2.3.4/32', 'fd00::/8', '::/128', '::1'])
    t.ok(isCidr(text), text);
  for (const text of ['10.0.0.0/33', 'fd00::/129', '10.0.0/8', 'x/8', '10.0.0.0/', '10.0.0.0/8/8', ''])
    t.notOk(isCidr(text), text);
});

t.test('what is formatted is read back', async () => {
  const host = fc.oneof(
    fc.domain().filter((name) => name.length <= 253),
    fc.ipV4(),
    fc.ipV6().filter((ip) => parseHost(`[${ip}]`) === ip),
  );
  const port = fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined });
  fc.assert(
    fc.property(host, port, (name, number) => {
      const address = number === undefined ? { host: name } : { host: name, port: number };
      t.same(parseAddress(formatAddress(address)), address);
    }),
  );
});

t.test('the pattern for editors accepts what the parser accepts, brackets aside', async () => {
  const pattern = new RegExp(ADDRESS_PATTERN);
  const near = fc.string({ unit: fc.constantFrom(...'a9-.:56'), maxLength: 12 });
  fc.assert(
    fc.property(near, (text) => pattern.test(text) === (parseAddress(text) !== undefined)),
    { numRuns: 2000 },
  );
});
