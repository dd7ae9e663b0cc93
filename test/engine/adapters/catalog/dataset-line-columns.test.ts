// The columns of a page of lines beside its rows, read one by one.

import fc from 'fast-check';
import t from 'tap';
import { DatasetLines } from '../../../../engine/adapters/catalog/dataset-line.ts';
import { datasetColumns } from '../../../../engine/adapters/catalog/dataset-line-columns.ts';
import type { DatasetColumns, IndexedDataset } from '../../../../engine/ports/dataset-index.ts';

const etag = fc.string({ unit: fc.constantFrom('0', 'a', '-', 'ä'), minLength: 1, maxLength: 34 });
const version = fc.option(fc.tuple(fc.integer({ min: 0, max: 4e12 }), etag), { nil: ['', ''] as const });
const line = fc
  .record({
    owner: fc.constantFrom('7', '71', '9223372036854775807'),
    dataset: fc.string({ unit: fc.constantFrom('a', 'B', '0', '_', '.'), minLength: 1, maxLength: 12 }),
    versions: fc.tuple(version, version, version),
    type: fc.constantFrom('genelist', 'gene\\tlist', 'g\u{1f9ec}', ''),
    targets: fc.subarray(['PlasmoSite', 'ToxoSite']),
  })
  .map(({ owner, dataset, versions, type, targets }) =>
    [owner, dataset, ...versions.flat(), 'live', type, '1', 'success', 'queued', ...targets].join('\t'),
  );

/** What the columns say of a row, as the row says it. */
function rowOf({ bytes, places, ends, metaMs, dataMs }: DatasetColumns, n: number): unknown {
  const text = (from: number, to: number): string => Buffer.from(bytes.subarray(from, to)).toString('utf8');
  const [owner, ownerEnd, datasetEnd, meta, metaEnd, data, dataEnd, rest] = places.subarray(
    n * 8,
    n * 8 + 8,
  ) as unknown as [...[number, number, number, number, number, number, number, number]];
  const versionOf = (ms: number, tag: string): unknown =>
    Number.isNaN(ms) ? undefined : { modified: new Date(ms), etag: tag };
  return {
    ...{ owner: text(owner, ownerEnd), dataset: text(ownerEnd + 1, datasetEnd) },
    ...{ meta: versionOf(metaMs[n] as number, text(meta, metaEnd)) },
    ...{ data: versionOf(dataMs[n] as number, text(data, dataEnd)), rest: text(rest, ends[n] as number) },
  };
}

const plainly = ({ owner, dataset, sync }: IndexedDataset, of: string): unknown => ({
  ...{ owner, dataset, meta: sync.meta, data: sync.data },
  rest: of.split('\t').slice(6).join('\t'),
});

t.test('columns say what rows say, in whose memory they may lie', async (t) => {
  let spare: DatasetColumns | undefined;
  let used = 0;
  const property = fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
    const page = new DatasetLines(lines.length > 0 ? lines.join('\n') : null, lines.length);
    const rows = [...page];
    const columns = page.columns(spare);
    if (lines.length === 0) return;
    if (!columns) return t.fail(`no columns of ${JSON.stringify(lines)}`);
    if (columns === spare) used++;
    spare = columns;
    t.strictSame(
      rows.map((_, n) => rowOf(columns, n)),
      rows.map((row, n) => plainly(row, lines[n] as string)),
    );
    t.strictSame(
      [0, 2, 1, rows.length - 1, -1, -2].map((place) => page.at(place)),
      [0, 2, 1, rows.length - 1, -1, -2].map((place) => rows.at(place)),
    );
  });
  fc.assert(property, { numRuns: 300, seed: 20_260_101 });
  t.ok(used > 100, `${used} pages lay in the memory of another`);
});

t.test('a page that is not whole, or whose etags are escaped, has none', async (t) => {
  const whole = '7\td\t1\te\t\t\t\t\tlive\tt\t1\tsuccess\tqueued';
  t.ok(datasetColumns(whole, 1));
  t.ok(datasetColumns(`${whole}\n${whole}`, 2));
  for (const [lines, length] of [
    [whole, 2],
    [`${whole}\n${whole}`, 1],
    [`${whole}\n`, 2],
    [`${whole}\n`, 1],
    [whole.slice(0, 8), 1],
    [`${whole.slice(0, 8)}\n${whole}`, 2],
    [whole.replace('e', 'e\\\\'), 1],
  ] as const)
    t.equal(datasetColumns(lines, length), undefined, JSON.stringify([lines, length]));
});
