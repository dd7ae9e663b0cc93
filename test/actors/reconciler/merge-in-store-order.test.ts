import fc from 'fast-check';
import t from 'tap';
import { objectsOf } from '../../../actors/dataset/stored-dataset.ts';
import {
  keysAfter,
  type MergedDataset,
  mergeInStoreOrder,
  PAGE,
} from '../../../actors/reconciler/merge-in-store-order.ts';
import type { TargetId } from '../../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../../engine/model/object-key.ts';
import type { IndexedDataset, InstalledDataset, StoreOrdered, TargetIndex } from '../../../engine/ports/catalog.ts';
import type { ObjectInfo } from '../../../engine/ports/object-store.ts';
import { aborted, defect, transient } from '../../../engine/runtime/failure.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { addressOf, indexedOf, indexOf, installedOn, storedOf } from '../../support/merged-datasets.ts';

const never = new AbortController().signal;
const refuse = ({ targets }: TargetIndex, error: unknown): never => {
  throw new Error(`${targets} was left out: ${error}`);
};

/** In pages that are shorter than what lies below a dataset, or longer. */
async function* listingOf(datasets: readonly DatasetAddress[], length = 7): AsyncGenerator<readonly ObjectInfo[]> {
  const all = datasets.flatMap(listedOf);
  for (let i = 0; i < all.length; i += length) yield all.slice(i, i + length);
}
const listedOf = (at: DatasetAddress): readonly ObjectInfo[] =>
  objectsOf(storedOf(at)).toSorted((a, b) => (a.key < b.key ? -1 : 1));
const cacheOf = (datasets: readonly DatasetAddress[]): StoreOrdered<IndexedDataset> =>
  indexOf(datasets.map((at) => indexedOf(at)));
const targetOf = (target: TargetId, datasets: readonly DatasetAddress[]): TargetIndex => ({
  targets: [target],
  ...indexOf(datasets.map((at) => installedOn([target], at))),
});

/** Several targets in one control schema. */
const schemaOf = (targets: readonly TargetId[], datasets: readonly InstalledDataset[]): TargetIndex => ({
  targets,
  ...indexOf(datasets),
});

/** One line per dataset: who knows it. */
async function merged(
  stored: AsyncIterable<readonly ObjectInfo[]>,
  cache: StoreOrdered<IndexedDataset>,
  targets: readonly TargetIndex[] = [],
  onLeftOut: (index: TargetIndex, error: unknown) => void = refuse,
): Promise<string[]> {
  const lines: string[] = [];
  for await (const batch of mergeInStoreOrder({ stored, cache, targets }, onLeftOut, never))
    lines.push(...batch.map(lineOf));
  return lines;
}

function lineOf({ stored, indexed, installed, ...at }: MergedDataset): string {
  const who = [
    ...(stored ? ['store'] : []),
    ...(indexed ? ['cache'] : []),
    ...[...installed].map(([id, state]) => (state ? id : `not ${id}`)),
  ];
  return `${datasetPrefix(at)} ${who.join(', ')}`;
}

t.test('every dataset comes once, with what each side knows of it', async (t) => {
  const [a, b, c, d] = [addressOf(1, 'a'), addressOf(1, 'b'), addressOf(1, 'c'), addressOf(1, 'd')];
  const targets = [targetOf(PLASMO, [b, d]), targetOf(TOXO, [b])];
  t.strictSame(await merged(listingOf([a, b]), cacheOf([b, c]), targets), [
    '1/a/ store, not PlasmoSite, not ToxoSite',
    '1/b/ store, cache, PlasmoSite, ToxoSite',
    '1/c/ cache, not PlasmoSite, not ToxoSite',
    '1/d/ PlasmoSite, not ToxoSite',
  ]);
  t.strictSame(await merged(listingOf([]), cacheOf([])), []);
});

t.test('a stream that is not in order is refused, since read on it would make datasets look absent', async (t) => {
  const [a, b] = [addressOf(1, 'a'), addressOf(1, 'b')];
  const message = (who: string) => ({
    kind: 'defect',
    message: `${who}: dataset 1/a/ comes after 1/b/, which is not the order of keys`,
  });
  await t.rejects(merged(listingOf([b, a]), cacheOf([a, b])), message('object store'));
  await t.rejects(merged(listingOf([a, b]), cacheOf([b, a])), message('cache'));
  await t.rejects(merged(listingOf([a, b, a]), cacheOf([])), message('object store'));
  await t.rejects(merged(listingOf([]), cacheOf([a, a])), { kind: 'defect', message: /1\/a\/ comes after 1\/a\// });
  const left: unknown[] = [];
  const lines = await merged(listingOf([a, b]), cacheOf([a, b]), [targetOf(PLASMO, [b, a])], ({ targets }, error) =>
    left.push([...targets, error]),
  );
  t.strictSame(lines, ['1/a/ store, cache, not PlasmoSite', '1/b/ store, cache, PlasmoSite']);
  t.match(left, [[PLASMO, message('PlasmoSite')]]);
});

t.test('an order that breaks between two pages is found, too', async (t) => {
  const rows = Array.from({ length: PAGE }, (_, i) => addressOf(1, `b${String(i).padStart(4, '0')}`));
  await t.rejects(merged(listingOf([]), cacheOf([...rows, addressOf(1, 'a')])), {
    kind: 'defect',
    message: new RegExp(`cache: dataset 1/a/ comes after 1/b0*${PAGE - 1}/`),
  });
});

t.test('a target that fails on the way is left out from there on, the others go on', async (t) => {
  const all = Array.from({ length: PAGE + 1 }, (_, i) => addressOf(1, `d${String(i).padStart(4, '0')}`));
  const whole = targetOf(PLASMO, all);
  const failing: TargetIndex = {
    ...whole,
    page: async (after, ...rest) => {
      if (after) throw transient('PlasmoSite is away');
      return whole.page(after, ...rest);
    },
  };
  const targets = [failing, targetOf(TOXO, all)];
  const left: string[] = [];
  const lines = await merged(listingOf(all), cacheOf(all), targets, (index, error) =>
    left.push(`${index.targets}: ${error}`),
  );
  t.strictSame(lines.slice(PAGE - 1), [
    `1/${all[PAGE - 1]?.dataset}/ store, cache, PlasmoSite, ToxoSite`,
    `1/${all[PAGE]?.dataset}/ store, cache, ToxoSite`,
  ]);
  t.strictSame(left, ['PlasmoSite: Failure: PlasmoSite is away']);
});

t.test('all targets of a control schema that fails are left out', async (t) => {
  const [a, gone] = [addressOf(1, 'a'), addressOf(1, 'gone')];
  const schema = schemaOf([PLASMO, TOXO], [installedOn([TOXO], a), installedOn([PLASMO, TOXO], gone)]);
  const lines = (page = schema.page, left: unknown[] = []) =>
    merged(listingOf([a]), cacheOf([a]), [{ ...schema, page }], ({ targets }) => left.push(targets));
  t.strictSame(await lines(), ['1/a/ store, cache, not PlasmoSite, ToxoSite', '1/gone/ PlasmoSite, ToxoSite']);
  const left: unknown[] = [];
  t.strictSame(await lines(() => Promise.reject(transient('away')), left), ['1/a/ store, cache']);
  t.strictSame(left, [[PLASMO, TOXO]]);
});

t.test('the more targets there are, the fewer datasets a page has', async (t) => {
  const asked: number[] = [];
  const target = (id: string) => `Target${id}` as TargetId;
  const index = (...targets: TargetId[]): TargetIndex => ({
    targets,
    page: async (_after, limit) => {
      asked.push(limit);
      return [];
    },
  });
  await merged(listingOf([]), cacheOf([]), [index(target('A'), target('B'), target('C')), index(target('D'))]);
  t.strictSame(asked, [PAGE / 2, PAGE / 2], 'as many states as two pages of one target have');
});

t.test('a listing or a cache that fails ends the merge', async (t) => {
  const a = addressOf(1, 'a');
  async function* cut(): AsyncGenerator<readonly ObjectInfo[]> {
    yield listedOf(a);
    throw transient('the store is away');
  }
  await t.rejects(merged(cut(), cacheOf([a])), { kind: 'transient', message: 'the store is away' });
  const away: StoreOrdered<IndexedDataset> = { page: () => Promise.reject(defect('the cache is away')) };
  await t.rejects(merged(listingOf([a]), away), { message: 'the cache is away' });
});

t.test('an abort is not taken for a target that is away', async (t) => {
  const stop = new AbortController();
  const target: TargetIndex = {
    targets: [PLASMO],
    page: async (_after, _limit, signal) => {
      stop.abort(aborted('shutdown'));
      signal.throwIfAborted();
      return [];
    },
  };
  const sources = { stored: listingOf([]), cache: cacheOf([]), targets: [target] };
  const all = mergeInStoreOrder(sources, refuse, stop.signal);
  await t.rejects(all.next(), { kind: 'aborted', message: 'shutdown' });
});

t.test('the listing is closed when the reader stops early', async (t) => {
  let closed = false;
  async function* listing(): AsyncGenerator<readonly ObjectInfo[]> {
    try {
      yield* listingOf([addressOf(1, 'a'), addressOf(1, 'b')]);
    } finally {
      closed = true;
    }
  }
  const sources = { stored: listing(), cache: cacheOf([]), targets: [] };
  for await (const [one] of mergeInStoreOrder(sources, refuse, never)) {
    t.equal(one?.dataset, 'a');
    break;
  }
  t.equal(closed, true);
});

t.test('no more than one page of the listing and two of each database are held, of 20,000', async (t) => {
  const [COUNT, LISTED] = [20_000, 1_000];
  const at = (i: number): DatasetAddress => addressOf(1, `d${String(i).padStart(6, '0')}`);
  const ahead = { listed: 0, cache: 0, target: 0 };
  const most = { ...ahead };
  let seen = 0;
  const note = (): void => {
    for (const who of ['listed', 'cache', 'target'] as const) most[who] = Math.max(most[who], ahead[who] - seen);
  };
  async function* listing(): AsyncGenerator<readonly ObjectInfo[]> {
    for (; ahead.listed < COUNT; ahead.listed += LISTED) {
      yield Array.from({ length: LISTED }, (_, i) => listedOf(at(ahead.listed + i))).flat();
      note();
    }
  }
  const pages = <Row>(who: 'cache' | 'target', rowOf: (at: DatasetAddress) => Row) => ({
    page: async (after: DatasetAddress | undefined, limit: number): Promise<Row[]> => {
      const from = after ? Number(after.dataset.slice(1)) + 1 : 0;
      const length = Math.min(limit, COUNT - from);
      ahead[who] += length;
      note();
      return Array.from({ length }, (_, i) => rowOf(at(from + i)));
    },
  });
  const sources = {
    stored: listing(),
    cache: pages('cache', (one) => indexedOf(one)),
    targets: [{ targets: [PLASMO], ...pages('target', (one) => installedOn([PLASMO], one)) }],
  };
  for await (const batch of mergeInStoreOrder(sources, refuse, never)) {
    if (!batch.every((one) => one.stored && one.indexed && one.installed.get(PLASMO)))
      t.fail(`a dataset after ${seen} is not known to all`);
    seen += batch.length;
  }
  t.equal(seen, COUNT);
  t.strictSame(most, { listed: 0, cache: 2 * PAGE, target: 2 * PAGE });
});

t.test('whatever the streams hold, they come as a map of all of them has it in the order of bytes', async (t) => {
  const id = fc.string({
    unit: fc.constantFrom('-', '.', '0', '9', 'A', 'Z', '_', 'a', 'b'),
    minLength: 1,
    maxLength: 4,
  });
  const address = fc.record({ owner: fc.constantFrom('1', '10', '100', '2', '9', '92'), dataset: id });
  const place = fc.record({ at: address, who: fc.subarray(['store', 'cache', PLASMO, TOXO]) });
  const byBytes = (a: DatasetAddress, b: DatasetAddress): number =>
    Buffer.compare(Buffer.from(datasetPrefix(a)), Buffer.from(datasetPrefix(b)));
  const property = fc.asyncProperty(fc.array(place, { maxLength: 30 }), async (places) => {
    const all = new Map(
      places.map(({ at, who }) => [datasetPrefix(at as DatasetAddress), { at: at as DatasetAddress, who }]),
    );
    const ordered = [...all.values()].sort((a, b) => byBytes(a.at, b.at));
    const of = (name: string): DatasetAddress[] => ordered.filter(({ who }) => who.includes(name)).map(({ at }) => at);
    const apart = [PLASMO, TOXO].map((target) => targetOf(target, of(target)));
    const both = ordered.flatMap(({ at, who }) => {
      const on = [PLASMO, TOXO].filter((target) => who.includes(target));
      return on.length > 0 ? [installedOn(on, at)] : [];
    });
    const together = [schemaOf([PLASMO, TOXO], both)];
    const wanted = ordered
      .filter(({ who }) => who.length > 0)
      .map(({ at, who }) => {
        const known = ['store', 'cache'].filter((name) => who.includes(name));
        const installed = [PLASMO, TOXO].map((target) => (who.includes(target) ? target : `not ${target}`));
        return `${datasetPrefix(at)} ${[...known, ...installed].join(', ')}`;
      });
    for (const targets of [apart, together])
      t.strictSame(await merged(listingOf(of('store')), cacheOf(of('cache')), targets), wanted);
  });
  await fc.assert(property, { numRuns: 200, seed: 20_260_101 });
});

t.test('begun after a dataset, known or not, it gives the rest and nothing of that dataset', async (t) => {
  const ids = ['-a', 'a', 'a-b', 'a.b', 'a0', 'a00', 'a_1', 'ab', 'b'];
  const all = ['1', '10', '2'].flatMap((owner) => ids.map((id) => addressOf(owner, id)));
  const inOrder = all.toSorted((a, b) => (datasetPrefix(a) < datasetPrefix(b) ? -1 : 1));
  const unknown = [addressOf(1, 'a-a'), addressOf(1, 'zz'), addressOf(11, 'a'), addressOf(3, 'a')];
  for (const after of [...inOrder, ...unknown]) {
    const store = new FakeObjectStore();
    for (const at of all)
      for (const name of ['-', 'raw/zz', 'vdi-meta.json', '~'])
        await store.put(datasetPrefix(at) + name, Buffer.of(), {}, never);
    const stored = store.pages('', { after: keysAfter(after) }, never);
    const targets = [targetOf(PLASMO, inOrder)];
    const lines: string[] = [];
    for await (const batch of mergeInStoreOrder({ stored, after, cache: cacheOf(inOrder), targets }, refuse, never))
      lines.push(...batch.map(lineOf));
    const rest = inOrder.filter((at) => datasetPrefix(at) > datasetPrefix(after));
    t.strictSame(
      lines,
      rest.map((at) => `${datasetPrefix(at)} store, cache, PlasmoSite`),
      datasetPrefix(after),
    );
  }
});
