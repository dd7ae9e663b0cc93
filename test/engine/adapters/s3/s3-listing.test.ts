// What is scanned of a listing beside what an XML parser reads.

import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import t from 'tap';
import { parseListing, searchListing } from '../../../../engine/adapters/s3/s3-listing.ts';
import { scanListing } from '../../../../engine/adapters/s3/s3-listing-scan.ts';
import type { ObjectInfo } from '../../../../engine/ports/object-store.ts';

interface Entry {
  readonly key: string;
  readonly seconds: number;
  readonly fraction: string;
  readonly etag: string;
  readonly quote: string;
  readonly size: number;
  readonly rest: string;
  readonly form: 'usual' | 'indented' | 'reordered' | 'entity';
}

const key = fc.string({
  unit: fc.constantFrom('/', 'a', 'Z', '0', '-', '_', '.', '~', 'ä', '\u{1f9ec}', '='),
  minLength: 1,
  maxLength: 20,
});
const entry: fc.Arbitrary<Entry> = fc.record({
  key,
  seconds: fc.integer({ min: 0, max: 4_000_000_000 }),
  fraction: fc.constantFrom('', '.000', '.5', '.123456'),
  etag: fc.string({ unit: fc.constantFrom('0', 'a', '-', 'f'), minLength: 1, maxLength: 34 }),
  quote: fc.constantFrom('&quot;', '&#34;', '"'),
  size: fc.integer({ min: 0, max: 5 * 2 ** 40 }),
  rest: fc.constantFrom('', '<StorageClass>STANDARD</StorageClass>', '<Owner><ID>x</ID></Owner><StorageClass/>'),
  form: fc.oneof(
    { weight: 12, arbitrary: fc.constant('usual' as const) },
    { weight: 1, arbitrary: fc.constantFrom('indented', 'reordered', 'entity') },
  ),
});

function xmlOf({ form, ...entry }: Entry): string {
  const time = `<LastModified>${new Date(entry.seconds * 1000).toISOString().slice(0, 19)}${entry.fraction}Z</LastModified>`;
  const name = `<Key>${entry.key}${form === 'entity' ? '&amp;' : ''}</Key>`;
  const tag = `<ETag>${entry.quote}${entry.etag}${entry.quote}</ETag>`;
  const size = `<Size>${entry.size}</Size>`;
  const parts = form === 'reordered' ? [size, tag, time, name] : [name, time, tag, size];
  const gap = form === 'indented' ? '\n  ' : '';
  return `<Contents>${gap}${[...parts, entry.rest].join(gap)}</Contents>`;
}

const pageOf = (entries: readonly Entry[]): string =>
  `<ListBucketResult><IsTruncated>false</IsTruncated>${entries.map(xmlOf).join('')}</ListBucketResult>`;

const scanned = (xml: string): readonly ObjectInfo[] | undefined => {
  const page = scanListing(Buffer.from(xml));
  return page && [...page];
};

/** Key, etag and ms of each object. */
function columnsOf(xml: string): unknown[] {
  const columns = scanListing(Buffer.from(xml))?.columns;
  if (!columns) return [];
  const text = (place: number): string =>
    Buffer.from(columns.bytes.subarray(columns.places[place], columns.places[place + 1])).toString('utf8');
  return Array.from({ length: columns.length }, (_, n) => [text(n * 4), text(n * 4 + 2), columns.modifiedMs[n]]);
}

function byParser(xml: string): ObjectInfo[] {
  const parser = new XMLParser({ parseTagValue: false, isArray: (name) => name === 'Contents', htmlEntities: true });
  const { ListBucketResult: result } = parser.parse(xml);
  return ((result.Contents ?? []) as Record<string, string>[]).map((one) => ({
    key: one.Key as string,
    size: Number(one.Size),
    etag: (one.ETag as string).replaceAll('"', ''),
    modified: new Date(Math.floor(Date.parse(one.LastModified as string) / 1000) * 1000),
  }));
}

t.test('what is scanned, or else searched for, is what an XML parser reads', async (t) => {
  let count = 0;
  const property = fc.property(fc.array(entry, { maxLength: 8 }), (entries) => {
    const xml = pageOf(entries);
    const wanted = byParser(xml);
    t.strictSame([...parseListing(Buffer.from(xml), 'listing')], wanted, xml);
    t.strictSame(searchListing(xml, false, 'listing'), wanted, xml);
    const fast = scanned(xml);
    if (fast) t.strictSame(fast, wanted, xml);
    if (fast)
      t.strictSame(
        columnsOf(xml),
        wanted.map(({ key, etag, modified }) => [key, etag, modified.getTime()]),
        xml,
      );
    if (fast) count++;
    t.equal(
      fast !== undefined,
      entries.every(({ form }) => form === 'usual'),
      'only what is unusual is searched',
    );
  });
  fc.assert(property, { numRuns: 300, seed: 20_260_101 });
  t.ok(count > 100, `${count} pages were scanned`);
});

t.test('an entry that is damaged anywhere is never scanned as another object', async (t) => {
  const whole = pageOf([
    { key: '1/a', seconds: 1, fraction: '.000', etag: 'e1', quote: '&quot;', size: 7, rest: '', form: 'usual' },
    { key: '1/b', seconds: 2, fraction: '.000', etag: 'e2', quote: '&quot;', size: 8, rest: '', form: 'usual' },
  ]);
  const right = scanned(whole);
  t.equal(right?.length, 2);
  const damage = fc.record({ at: fc.nat({ max: whole.length - 1 }), by: fc.constantFrom('', '<', '&', '"', 'x', '-') });
  const property = fc.property(damage, ({ at, by }) => {
    const xml = whole.slice(0, at) + by + whole.slice(at + 1);
    let slow: unknown;
    try {
      slow = searchListing(xml, false, 'listing');
    } catch {
      slow = undefined;
    }
    const fast = scanned(xml);
    if (fast && slow) t.strictSame(fast, slow, xml);
  });
  fc.assert(property, { numRuns: 1_000, seed: 20_260_101 });
});

t.test('no other text is taken for a time', async (t) => {
  const page = (time: string): string =>
    `<Contents><Key>a</Key><LastModified>${time}</LastModified><ETag>"e"</ETag><Size>1</Size></Contents>`;
  const at = (time: string): number | undefined => scanned(page(time))?.[0]?.modified.getTime();
  t.equal(at('2026-01-02T03:04:05Z'), Date.UTC(2026, 0, 2, 3, 4, 5));
  t.equal(at('2026-01-02T23:59:59.999Z'), Date.UTC(2026, 0, 2, 23, 59, 59));
  for (const odd of [
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:60:05Z',
    '2026-13-02T03:04:05Z',
    '2026-01-02T03:04:05',
    '2026-01-02T03:04:05+01:00',
    '2026-01-02 03:04:05Z',
    '2026-01-02T03:04:05.Z',
    '',
  ])
    t.equal(at(odd), undefined, odd);
});
