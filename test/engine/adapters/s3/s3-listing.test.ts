// A listing page as we read it beside what an XML parser reads.

import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import t from 'tap';
import { parseListing } from '../../../../engine/adapters/s3/s3-listing.ts';
import type { ObjectInfo } from '../../../../engine/ports/object-store.ts';

interface Entry {
  readonly key: string;
  readonly seconds: number;
  readonly fraction: string;
  readonly etag: string;
  readonly quote: string;
  readonly size: number;
  readonly rest: string;
  readonly form: 'usual' | 'indented' | 'reordered';
}

const key = fc.string({
  unit: fc.constantFrom('/', 'a', 'Z', '0', '-', '_', '.', '~', 'ä', '\u{1f9ec}', '=', ' ', '&amp;', '&lt;', '&#65;'),
  minLength: 1,
  maxLength: 20,
});
const entry: fc.Arbitrary<Entry> = fc.record({
  key: fc.oneof(key, fc.constantFrom('007', '1.0', '0x1f', '1e3', 'true')),
  seconds: fc.integer({ min: 0, max: 4_000_000_000 }),
  fraction: fc.constantFrom('', '.000', '.5', '.123456'),
  etag: fc.string({ unit: fc.constantFrom('0', 'a', '-', 'f'), minLength: 1, maxLength: 34 }),
  quote: fc.constantFrom('&quot;', '&#34;', '"'),
  size: fc.integer({ min: 0, max: 5 * 2 ** 40 }),
  rest: fc.constantFrom('', '<StorageClass>STANDARD</StorageClass>', '<Owner><ID>x</ID></Owner><StorageClass/>'),
  form: fc.constantFrom('usual', 'indented', 'reordered'),
});

function xmlOf({ form, ...entry }: Entry): string {
  const time = `<LastModified>${new Date(entry.seconds * 1000).toISOString().slice(0, 19)}${entry.fraction}Z</LastModified>`;
  const name = `<Key>${entry.key}</Key>`;
  const tag = `<ETag>${entry.quote}${entry.etag}${entry.quote}</ETag>`;
  const size = `<Size>${entry.size}</Size>`;
  const parts = form === 'reordered' ? [size, tag, time, name] : [name, time, tag, size];
  const gap = form === 'indented' ? '\n  ' : '';
  return `<Contents>${gap}${[...parts, entry.rest].join(gap)}</Contents>`;
}

const pageOf = (entries: readonly Entry[]): string =>
  `<ListBucketResult><IsTruncated>false</IsTruncated>${entries.map(xmlOf).join('')}</ListBucketResult>\n`;

function byParser(xml: string): ObjectInfo[] {
  const plain = { parseTagValue: false, trimValues: false, htmlEntities: true };
  const parser = new XMLParser({ ...plain, isArray: (name) => name === 'Contents' });
  const { ListBucketResult: result } = parser.parse(xml);
  return ((result.Contents ?? []) as Record<string, string>[]).map((one) => ({
    key: one.Key as string,
    size: Number(one.Size),
    etag: (one.ETag as string).replaceAll('"', ''),
    modified: new Date(Math.floor(Date.parse(one.LastModified as string) / 1000) * 1000),
  }));
}

t.test('what is read of a page is what an XML parser reads', async (t) => {
  const property = fc.property(fc.array(entry, { maxLength: 8 }), (entries) => {
    const xml = pageOf(entries);
    const page = parseListing(xml, 'listing');
    t.strictSame(page.objects, byParser(xml), xml);
    t.equal(page.next, undefined);
  });
  fc.assert(property, { numRuns: 300, seed: 20_260_101 });
});

t.test('a page that is cut off anywhere is no listing', async (t) => {
  const usual = { fraction: '.000', quote: '&quot;', rest: '', form: 'usual' } as const;
  const whole = pageOf([
    { ...usual, key: '1/a', seconds: 1, etag: 'e1', size: 7 },
    { ...usual, key: '1/b', seconds: 2, etag: 'e2', size: 8 },
  ]).trimEnd();
  t.equal(parseListing(whole, 'listing').objects.length, 2);
  for (let length = 0; length < whole.length; length++)
    t.throws(() => parseListing(whole.slice(0, length), 'listing'), { kind: 'transient', message: /is not a listing/ });
});
