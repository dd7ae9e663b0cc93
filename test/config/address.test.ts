import fc from 'fast-check';
import t, { type Test } from 'tap';
import {
  ADDRESS_PATTERN,
  isCidr,
  parseAddress,
  parseAddressCsv,
  parseBindHost,
  parseHost,
} from '../../config/address.ts';

const label = 'a'.repeat(63);
const longest = `${label}.${label}.${label}.${'b'.repeat(61)}`;

function reads(t: Test, parse: (text: string) => unknown, cases: Readonly<Record<string, unknown>>): void {
  for (const [text, read] of Object.entries(cases)) t.strictSame(parse(text), read, JSON.stringify(text));
}

t.test('reads host and host:port', async (t) => {
  t.equal(longest.length, 253);
  reads(t, parseAddress, {
    db: { host: 'db' },
    'db.example.org:5432': { host: 'db.example.org', port: 5432 },
    '10.0.0.1:1': { host: '10.0.0.1', port: 1 },
    'x:65535': { host: 'x', port: 65_535 },
    '[::1]:80': { host: '::1', port: 80 },
    '[2001:db8::1]': { host: '2001:db8::1' },
    [`${longest}:80`]: { host: longest, port: 80 },
  });
});

t.test('refuses what is no address', async (t) => {
  const texts = [
    ...['', ':80', 'x:', 'x:0', 'x:65536', 'x:080', 'x:8a', 'x:80:80', '-x', '.x', 'x..y', 'x.', 'a_b', 'a b', 'ä'],
    ...['::1', '[x]', '[::1', '[:::]', '[]', 'http://x', 'x/y', 'a'.repeat(64), `a.${'b'.repeat(64)}`, `${longest}c`],
    'x\n',
  ];
  t.strictSame(
    texts.filter((text) => parseAddress(text) !== undefined),
    [],
  );
});

t.test('a list of addresses is all or nothing; a host has no port; a listener may bind to a bare IPv6', async (t) => {
  const list = [{ host: 'a', port: 1 }, { host: 'b' }, { host: '::1', port: 3 }];
  reads(t, parseAddressCsv, { 'a:1, b ,[::1]:3': list, 'a:1,': undefined, '': undefined, 'a,b_c': undefined });
  reads(t, parseHost, { 'x.example.org': 'x.example.org', '[::1]': '::1', 'x:80': undefined, '[1.2.3.4]': undefined });
  reads(t, parseBindHost, { '::': '::', '0.0.0.0': '0.0.0.0', localhost: 'localhost', a_b: undefined });
});

t.test('knows ranges of addresses', async (t) => {
  const texts = ['10.0.0.0/8', '127.0.0.1', '0.0.0.0/0', '1.2.3.4/32', 'fd00::/8', '::/128', '::1'];
  const others = ['10.0.0.0/33', 'fd00::/129', '10.0.0/8', 'x/8', '10.0.0.0/', '10.0.0.0/8/8', ''];
  t.strictSame([...texts, ...others].filter(isCidr), texts);
});

t.test('reads every domain, IPv4 and bracketed IPv6, with and without a port', async () => {
  const host = fc.oneof(
    fc.domain().filter((name) => name.length <= 253),
    fc.ipV4(),
    fc.ipV6().filter((ip) => parseHost(`[${ip}]`) === ip),
  );
  const port = fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined });
  fc.assert(
    fc.property(host, port, (name, number) => {
      const text = name.includes(':') ? `[${name}]` : name;
      if (number === undefined) t.same(parseAddress(text), { host: name });
      else t.same(parseAddress(`${text}:${number}`), { host: name, port: number });
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
