import fc from 'fast-check';
import t from 'tap';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import type { SchemaNode } from '../../config/schema-node.ts';
import { parseSize, readSizes, SIZE_PATTERN } from '../../config/size.ts';
import { compileCheck } from '../../config/validate.ts';

t.test('GB is 10^9 bytes and GiB is 2^30, in any common spelling', async (t) => {
  const texts: Record<string, number> = {
    '0': 0,
    '1048576': 1_048_576,
    '100B': 100,
    '100 bytes': 100,
    '10GB': 10 ** 10,
    '10 GB': 10 ** 10,
    '10gb': 10 ** 10,
    '10G': 10 ** 10,
    '10GiB': 10 * 2 ** 30,
    '10 GiB': 10 * 2 ** 30,
    '10Gi': 10 * 2 ** 30,
    '512M': 512_000_000,
    '512MiB': 512 * 2 ** 20,
    '64kB': 64_000,
    '64KiB': 65_536,
    '1.5GB': 1_500_000_000,
    '0.5KiB': 512,
    '2TB': 2 * 10 ** 12,
    '1PiB': 2 ** 50,
  };
  for (const [text, bytes] of Object.entries(texts)) t.equal(parseSize(text), bytes, text);
});

t.test('refuses what is no whole number of bytes', async (t) => {
  for (const text of [
    '',
    'B',
    'GB',
    '-1GB',
    '+1GB',
    '1e9',
    '1GBs',
    '1 G B',
    '1XB',
    '1,5GB',
    '1.GB',
    '.5GB',
    ' 1GB',
    '1GB ',
    '1.5B',
  ])
    t.equal(parseSize(text), undefined, JSON.stringify(text));
  t.equal(parseSize('0.1KiB'), undefined, 'a fraction of a byte');
  t.equal(parseSize('9223372036854775808'), undefined, 'beyond 2^63');
});

t.test('the pattern for editors accepts what the parser accepts', async () => {
  const pattern = new RegExp(SIZE_PATTERN);
  const near = fc.string({ unit: fc.constantFrom(...'0125kKmMgGiIbB. '), maxLength: 8 });
  fc.assert(
    fc.property(near, (text) => pattern.test(text) || parseSize(text) === undefined),
    { numRuns: 2000 },
  );
  fc.assert(fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (bytes) => parseSize(String(bytes)) === bytes));
});

t.test('text of a size becomes bytes, and what was written is kept', async (t) => {
  const schema = {
    type: 'object',
    properties: { a: { type: ['integer', 'string'], 'x-form': 'size' }, b: { type: 'string' } },
  } as SchemaNode;
  const { document, written } = readSizes(schema, { a: '1KiB', b: '1KiB', c: '1KiB' });
  t.same(document, { a: 1024, b: '1KiB', c: '1KiB' });
  t.same([...written], [['/a', '1KiB']]);
});

t.test('every key that counts bytes is a size, and takes no other text', async (t) => {
  const sizes = keys(ROOT_SCHEMA, '');
  const bytes = sizes.filter(
    ({ node }) => /\bbytes\b/i.test(node.description ?? '') && [node.type].flat().includes('integer'),
  );
  t.ok(bytes.length > 20, `${bytes.length} keys`);
  for (const { path, node } of bytes) {
    t.equal(node['x-form'], 'size', path);
    const check = compileCheck(node);
    t.match(
      check('10 gigabytes', () => undefined),
      [{ allowed: /^a size.* \(bytes, or with a unit such as 512MB or 10GiB\)$/ }],
      path,
    );
  }
});

function keys(node: SchemaNode, path: string): readonly { readonly path: string; readonly node: SchemaNode }[] {
  const { properties = {}, additionalProperties, items, anyOf = [] } = node;
  return [
    { path, node },
    ...Object.entries(properties).flatMap(([key, child]) => keys(child, `${path}.${key}`)),
    ...(typeof additionalProperties === 'object' ? keys(additionalProperties, `${path}.*`) : []),
    ...(items ? keys(items, `${path}[]`) : []),
    ...anyOf.flatMap((branch) => keys(branch, path)),
  ];
}
