import t from 'tap';
import { rowBatches } from '../../../../engine/adapters/postgres/row-pages.ts';

interface Row {
  readonly n: number;
}

const BATCH = 8;
const open = new AbortController().signal;

/** So many rows, of which `cut` keeps what is not too much at once. */
function listing(total: number, limit: number, cut: (rows: readonly Row[]) => number = (rows) => rows.length) {
  const asked: [count: number, after: number | undefined][] = [];
  const read = async (count: number, after: number | undefined) => {
    asked.push([count, after]);
    const from = (after ?? 0) + 1;
    const rows = Array.from({ length: Math.min(count, total - from + 1) }, (_, i) => ({ n: from + i }));
    return rows.slice(0, cut(rows)).map((row) => ({ ...row, page_rows: rows.length }));
  };
  const batches = rowBatches<Row, number>({ read, placeOf: ({ n }) => n, batchSize: BATCH, limit, signal: open });
  return { asked, batches };
}

t.test('every row comes once and in order, up to the limit, wherever batches are cut, and none is empty', async (t) => {
  for (const cutAt of [1, 3, BATCH])
    for (let total = 0; total <= 30; total++)
      for (const limit of [0, 1, 7, 8, 9, 29, 30, 31]) {
        const { batches } = listing(total, limit, (rows) => Math.min(rows.length, cutAt));
        const found: number[] = [];
        for await (const batch of batches) {
          if (batch.length === 0) t.fail('an empty batch');
          found.push(...batch.map(({ n }) => n));
        }
        const wanted = Array.from({ length: Math.min(total, limit) }, (_, i) => i + 1);
        t.strictSame(found, wanted, `${limit} of ${total}, cut at ${cutAt}`);
      }
});

t.test('nothing is asked for before it is read, or when a batch was the last', async (t) => {
  const { asked, batches } = listing(12, 100);
  await batches.next();
  t.strictSame(asked, [[BATCH, undefined]]);
  await batches.next();
  t.strictSame(asked, [
    [BATCH, undefined],
    [BATCH, 8],
  ]);
  t.strictSame(await batches.next(), { value: undefined, done: true });
  t.equal(asked.length, 2);
});

t.test('after a batch that was cut, the next is asked for no more rows than it had', async (t) => {
  const { asked, batches } = listing(20, 100, (rows) => (rows[0]?.n === 1 ? 2 : rows.length));
  for await (const _ of batches);
  t.strictSame(asked.slice(0, 3), [
    [BATCH, undefined],
    [2, 2],
    [4, 4],
  ]);
});

t.test('a reader that is told to stop gets no other batch', async (t) => {
  const stop = new AbortController();
  const read = async (count: number) => Array.from({ length: count }, (_, n) => ({ n }));
  const batches = rowBatches({ read, placeOf: ({ n }) => n, batchSize: 2, limit: 10, signal: stop.signal });
  await batches.next();
  stop.abort(new Error('stopped'));
  await t.rejects(batches.next(), { message: 'stopped' });
});
