// What every page of datasets in the store's order does; part of the suites of the indexes.

import type { Test } from 'tap';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { StoreOrdered } from '../../engine/ports/catalog.ts';

export interface StoreOrderSetup {
  /** Knows no dataset yet. */
  readonly index: StoreOrdered<DatasetAddress>;
  readonly add: (at: DatasetAddress) => Promise<void>;
  readonly remove: (at: DatasetAddress) => Promise<void>;
}

const signal = new AbortController().signal;

const address = (text: string): DatasetAddress => {
  const [owner, dataset] = text.split('/');
  return { owner: owner as UserId, dataset: dataset as DatasetId };
};

/** In the order of their prefixes in the store: `-` and `.` come before `/`, digits, capitals, `_` and letters after. */
const ORDERED = [
  '1/-a',
  '1/.a',
  '1/0',
  '1/AB',
  '1/Ab',
  '1/_a',
  '1/a-b',
  '1/a.b',
  '1/a',
  '1/a0',
  '1/aB',
  '1/a_1',
  '1/a_10',
  '1/a_2',
  '1/ab',
  '10/0b',
  '10/a1',
  '19/0c',
  '2/0d',
  '9223372036854775807/0e',
].map(address);

/** All pages of this size, the last of them not full. */
export async function paged<Row extends DatasetAddress>(index: StoreOrdered<Row>, limit: number): Promise<Row[][]> {
  const pages: Row[][] = [];
  for (;;) {
    const page = [...(await index.page(pages.at(-1)?.at(-1), limit, signal))];
    pages.push(page);
    if (page.length < limit) return pages;
  }
}

export function storeOrderConformance(t: Test, setup: (t: Test) => Promise<StoreOrderSetup>): void {
  const addresses = async (index: StoreOrdered<DatasetAddress>, limit: number) =>
    (await paged(index, limit)).map((page) => page.map(({ owner, dataset }) => ({ owner, dataset })));

  const filled = async (t: Test) => {
    const { index, add, remove } = await setup(t);
    // Neither in the order of the store nor in its reverse.
    for (const start of [2, 0, 1])
      for (let i = start; i < ORDERED.length; i += 3) await add(ORDERED[i] as DatasetAddress);
    return { index, remove };
  };

  t.test('an empty index has one empty page', async (t) => {
    const { index } = await setup(t);
    t.strictSame(await addresses(index, 10), [[]]);
  });

  t.test('pages are in the order of the bytes of the keys', async (t) => {
    const { index } = await filled(t);
    t.strictSame(await addresses(index, 1_000), [ORDERED]);
  });

  t.test('pages of any size make the same whole', async (t) => {
    const { index } = await filled(t);
    for (const limit of [1, 2, 3, ORDERED.length]) {
      const pages = await addresses(index, limit);
      t.strictSame(pages.flat(), ORDERED, `pages of ${limit}`);
      t.ok(pages.slice(0, -1).every((page) => page.length === limit));
    }
  });

  t.test('a page begins after an address that is not there', async (t) => {
    const { index, remove } = await filled(t);
    const after = async (text: string) =>
      Array.from(await index.page(address(text), 1, signal), ({ dataset }) => dataset);
    t.strictSame(await after('1/a!'), ['a-b']);
    t.strictSame(await after('1/zzz'), ['0b']);
    t.strictSame(await after('11/a'), ['0c']);
    t.strictSame(await after('9223372036854775807/0f'), []);
    await remove(address('1/a'));
    t.strictSame(await after('1/a.b'), ['a0']);
    t.strictSame(await after('1/a'), ['a0']);
  });

  t.test('an aborted signal reads nothing', async (t) => {
    const { index } = await setup(t);
    await t.rejects(index.page(undefined, 1, AbortSignal.abort()), { name: 'AbortError' });
  });
}
