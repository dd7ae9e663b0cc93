// What is passed over, beside a map of everything that both sides hold: no difference may be missed, and none be made up.

import fc from 'fast-check';
import t from 'tap';
import { DatasetGrouping, type StoredDataset } from '../../../actors/dataset/stored-dataset.ts';
import { InStep } from '../../../actors/reconciler/in-step.ts';
import { type MergedDataset, mergeInStoreOrder } from '../../../actors/reconciler/merge-in-store-order.ts';
import { BYTES_PAGE } from '../../../actors/reconciler/pages-ahead.ts';
import { type DecisionContext, decide } from '../../../actors/reconciler/reconciler-decision.ts';
import { DatasetLines } from '../../../engine/adapters/catalog/dataset-line.ts';
import { scanListing } from '../../../engine/adapters/s3/s3-listing-scan.ts';
import { parseDatasetId } from '../../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../../engine/model/object-key.ts';
import type { DatasetPage, IndexedDataset, StoreOrdered } from '../../../engine/ports/dataset-index.ts';
import type { ObjectInfo, ObjectPage } from '../../../engine/ports/object-store.ts';
import { TYPES } from '../../support/lane-settings.ts';
import { addressOf, INSTALLED_OBJECTS } from '../../support/merged-datasets.ts';

const never = new AbortController().signal;
const SECOND_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const CONTEXT: DecisionContext = { now: SECOND_MS + 86_400_000, types: TYPES, full: false };

/** A dataset on both sides, in step but for its damages. */
interface Planned {
  readonly owner: string;
  readonly id: string;
  readonly import: IndexedDataset['import'];
  readonly damages: readonly Damage[];
}

const DAMAGES = [
  ...['not in the store', 'not in the cache', 'meta etag', 'meta time', 'data etag', 'data time', 'no meta', 'no data'],
  ...['no manifest', 'not packed', 'delete-flag', 'revised-flag', 'upload-error.json', 'raw/a.txt', 'raw/a/b', 'raw/'],
  ...['documents/a.pdf', 'datasetProperties/a.tsv', 'documents/a/b', 'shares/7/share-offer.json', 'vdi-meta.jsonx'],
  ...['superseded', 'deleted', 'pruning', 'upload running', 'upload failed', 'shares known', 'no shares known'],
  ...['never synced', 'other type', 'no targets', 'import in-progress', 'longer etag', 'stray before', 'folder marker'],
] as const;
type Damage = (typeof DAMAGES)[number];

class Site {
  readonly objects: ObjectInfo[] = [];
  readonly lines: { readonly at: DatasetAddress; readonly line: string }[] = [];

  constructor(planned: readonly Planned[]) {
    for (const one of planned) this.#add(one);
    this.objects.sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
    this.lines.sort((a, b) => Buffer.compare(Buffer.from(datasetPrefix(a.at)), Buffer.from(datasetPrefix(b.at))));
  }

  #add({ owner, id, import: imported, damages }: Planned): void {
    const at = addressOf(owner, id);
    const is = (damage: Damage): boolean => damages.includes(damage);
    const etag = (name: string): string => `${id.length}e${name.length}`;
    const extra = damages.filter((damage) => /[/.]|-flag$/.test(damage));
    const names = imported === 'complete' ? INSTALLED_OBJECTS : (['vdi-meta.json', 'import-ready.zip'] as const);
    const missing = { 'vdi-meta.json': 'no meta', 'install-ready.zip': 'no data', 'vdi-manifest.json': 'no manifest' };
    const left = names.filter((name) => !is({ ...missing, 'import-ready.zip': 'not packed' }[name] as Damage));
    if (!is('not in the store'))
      for (const name of [...left, ...extra])
        this.objects.push({ key: datasetPrefix(at) + name, size: 1, etag: etag(name), modified: new Date(SECOND_MS) });
    if (is('stray before'))
      this.objects.push({ key: `${owner}/${id}`, size: 1, etag: 'e', modified: new Date(SECOND_MS) });
    if (is('folder marker'))
      this.objects.push({ key: datasetPrefix(at), size: 0, etag: 'e', modified: new Date(SECOND_MS) });
    if (is('not in the cache')) return;
    const version = (name: 'meta' | 'data', object: string): unknown[] => [
      SECOND_MS + (is(`${name} time`) ? 1_000 : 0),
      etag(object) + (is(`${name} etag`) ? 'x' : '') + (is('longer etag') ? '0' : ''),
    ];
    const hasData = imported === 'complete';
    const fields = [
      ...[owner, id, ...(is('never synced') ? ['', ''] : version('meta', 'vdi-meta.json'))],
      ...(hasData ? version('data', 'install-ready.zip') : ['', '']),
      ...(is('shares known') ? [SECOND_MS, 'abc'] : is('no shares known') ? [0, 'none'] : ['', '']),
      (['superseded', 'deleted', 'pruning'] as const).find(is) ?? 'live',
      ...[is('other type') ? 'other' : 'genelist', '1.0'],
      is('upload running') ? 'running' : is('upload failed') ? 'failed' : 'success',
      is('import in-progress') ? 'in-progress' : imported,
      ...(is('no targets') ? [] : ['PlasmoSite']),
    ];
    this.lines.push({ at, line: fields.join('\t') });
  }

  /** As a store writes it, in pages of so many objects. */
  async *listing(length: number): AsyncGenerator<ObjectPage> {
    for (let n = 0; n < this.objects.length; n += length) {
      const entries = this.objects
        .slice(n, n + length)
        .map(
          ({ key, size, etag, modified }) =>
            `<Contents><Key>${key}</Key><LastModified>${modified.toISOString()}</LastModified>` +
            `<ETag>&quot;${etag}&quot;</ETag><Size>${size}</Size></Contents>`,
        );
      const page = scanListing(Buffer.from(`<ListBucketResult>${entries.join('')}</ListBucketResult>`));
      if (!page) throw new Error(`not scanned: ${entries}`);
      yield page;
    }
  }

  get cache(): StoreOrdered<IndexedDataset, DatasetPage> {
    return {
      page: async (after, limit) => {
        const prefix = after && datasetPrefix(after);
        const from = prefix ? this.lines.findIndex(({ at }) => datasetPrefix(at) === prefix) + 1 : 0;
        const page = this.lines.slice(from, from + limit).map(({ line }) => line);
        return new DatasetLines(page.length > 0 ? page.join('\n') : null, page.length);
      },
    };
  }
}

interface Found {
  /** Address and verdict of what is not in step, in the order of keys. */
  readonly differing: readonly string[];
  /** Datasets in step. */
  readonly inStep: number;
}

const tellOf = (one: MergedDataset): string | undefined => {
  const verdict = decide(one, CONTEXT);
  if (verdict.kind === 'in-sync') return undefined;
  return `${datasetPrefix(one)} ${verdict.kind === 'reconcile' ? verdict.reason : verdict.kind}`;
};

/** By a map of everything. */
async function byMap(site: Site): Promise<Found> {
  const all = new Map<string, { at: DatasetAddress; stored?: StoredDataset; indexed?: IndexedDataset }>();
  const grouping = new DatasetGrouping();
  const groups = [...site.objects.map((info) => grouping.add(info)), grouping.open];
  for (const stored of groups) if (stored) all.set(datasetPrefix(stored), { at: stored, stored });
  for (const indexed of await site.cache.page(undefined, site.lines.length, never)) {
    const prefix = datasetPrefix(indexed);
    all.set(prefix, { at: indexed, ...all.get(prefix), indexed });
  }
  const merged = [...all.entries()]
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([, { at, stored, indexed }]) => tellOf({ ...at, stored, indexed, installed: new Map() }));
  const differing = merged.filter((told) => told !== undefined);
  return { differing, inStep: merged.length - differing.length };
}

async function byMerge(
  site: Pick<Site, 'listing' | 'cache'>,
  length: number,
): Promise<Found & { readonly passed: number }> {
  const differing: string[] = [];
  let [inStep, passed] = [0, 0];
  const passOver = {
    inStep: new InStep((one) => decide(one, CONTEXT).kind === 'in-sync'),
    count: (datasets: number): void => {
      passed += datasets;
    },
  };
  const refuse = (target: unknown): never => {
    throw new Error(`${target} was left out`);
  };
  const sources = { stored: site.listing(length), cache: site.cache, targets: new Map(), passOver };
  for await (const batch of mergeInStoreOrder(sources, refuse, never))
    for (const one of batch) {
      const told = tellOf(one);
      if (told === undefined) inStep++;
      else differing.push(told);
    }
  return { differing, inStep: inStep + passed, passed };
}

const planned: fc.Arbitrary<Planned> = fc.record({
  owner: fc.constantFrom('1', '10', '2'),
  // Keys of what is no id of a dataset are none of a dataset, and no row has one.
  id: fc
    .string({ unit: fc.constantFrom('-', '.', '0', 'A', '_', 'a', 'b'), minLength: 1, maxLength: 3 })
    .filter((id) => parseDatasetId(id) !== undefined),
  import: fc.constantFrom('complete', 'complete', 'invalid'),
  damages: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: fc.subarray([...DAMAGES], { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.subarray([...DAMAGES], { maxLength: 4 }) },
  ),
});

t.test('whatever is damaged, a map of everything finds the same', async (t) => {
  let passed = 0;
  const sites = fc.uniqueArray(planned, { maxLength: 16, selector: ({ owner, id }) => `${owner}/${id}` });
  const property = fc.asyncProperty(sites, fc.integer({ min: 1, max: 40 }), async (plan, length) => {
    const site = new Site(plan);
    const found = await byMerge(site, length);
    passed += found.passed;
    t.strictSame({ differing: found.differing, inStep: found.inStep }, await byMap(site));
  });
  await fc.assert(property, { numRuns: 500, seed: 20_260_101 });
  t.ok(passed > 600, `${passed} datasets were passed over`);
});

t.test('an object beside the folder of a dataset does not stand for the one that the folder lacks', async (t) => {
  const plan = ['a', 'b', 'c', 'd'].map((id): Planned => {
    return { owner: '1', id, import: 'complete', damages: id === 'c' ? ['no manifest'] : [] };
  });
  const site = new Site(plan);
  const after = site.objects.findIndex(({ key }) => key.startsWith('1/d/'));
  const beside = { key: '1/c0vdi-manifest.json', size: 1, etag: 'e', modified: new Date(SECOND_MS) };
  site.objects.splice(after, 0, beside);
  const found = await byMerge(site, 100);
  t.strictSame({ differing: found.differing, inStep: found.inStep }, await byMap(site));
  t.match(found.differing, [/^1\/c\/ /]);
});

t.test('datasets with raw files and documents are passed over as others are', async (t) => {
  const plan = Array.from({ length: 50 }, (_, n): Planned => {
    const damages: readonly Damage[] = ['documents/a.pdf', 'datasetProperties/a.tsv'];
    return { owner: '1', id: `d${String(n).padStart(5, '0')}`, import: 'complete', damages };
  });
  const found = await byMerge(new Site(plan), 1_000);
  t.strictSame({ differing: found.differing, inStep: found.inStep }, { differing: [], inStep: 50 });
  t.ok(found.passed > 40, `${found.passed} were passed over`);
});

t.test('of many pages nearly all are passed over, and every damage is found', async (t) => {
  const count = 2 * BYTES_PAGE + 70;
  const plan = Array.from({ length: count }, (_, n): Planned => {
    const damage = n % 97 === 13 ? DAMAGES[((n / 97) % DAMAGES.length) | 0] : undefined;
    const [owner, id] = [String(10 + (n % 7)), `d${String(n).padStart(5, '0')}`];
    return { owner, id, import: n % 3 === 0 ? 'invalid' : 'complete', damages: damage ? [damage] : [] };
  });
  const site = new Site(plan);
  const found = await byMerge(site, 1_000);
  t.strictSame({ differing: found.differing, inStep: found.inStep }, await byMap(site));
  t.ok(found.differing.length > 15, `${found.differing.length} differ`);
  t.ok(found.passed > count * 0.95, `${found.passed} of ${count} were passed over`);
});

t.test('of the objects of a page none are read but those of its last dataset', async (t) => {
  const [pages, perPage] = [6, 8];
  const plan = Array.from({ length: pages * perPage }, (_, n): Planned => {
    return { owner: '1', id: `d${String(n).padStart(5, '0')}`, import: 'complete', damages: [] };
  });
  const site = new Site(plan);
  const each = INSTALLED_OBJECTS.length;
  let reads = 0;
  const counted = async function* (): AsyncGenerator<ObjectPage> {
    for await (const page of site.listing(perPage * each))
      yield Object.assign(page, {
        at: (place: number) => {
          reads++;
          return Object.getPrototypeOf(page).at.call(page, place);
        },
      });
  };
  const found = await byMerge({ listing: counted, cache: site.cache }, 0);
  t.strictSame(found, { differing: [], inStep: pages * perPage, passed: pages * (perPage - 1) });
  const firstOfPages = pages - 1;
  // It is what a run begins with, which ends with the next one's first object, and shows that its shape is in step.
  const firstDataset = each + 1 + each;
  t.equal(reads, pages * each + firstOfPages + firstDataset);
});

t.test('what one page says is not taken for what the next says in its place', async (t) => {
  const plan = Array.from({ length: 3 * BYTES_PAGE }, (_, n): Planned => {
    const damages: readonly Damage[] = n >= BYTES_PAGE && n < 2 * BYTES_PAGE ? ['upload running'] : [];
    return { owner: '1', id: `d${String(n).padStart(5, '0')}`, import: 'invalid', damages };
  });
  const site = new Site(plan);
  const found = await byMerge(site, 1_000);
  t.strictSame({ differing: found.differing, inStep: found.inStep }, await byMap(site));
  t.equal(found.differing.length, BYTES_PAGE);
});

t.test('a side that is out of order is refused all the same', async (t) => {
  const plan = ['a', 'b', 'c', 'd', 'e'].map((id): Planned => ({ owner: '1', id, import: 'invalid', damages: [] }));
  const turned = (site: Site, side: 'objects' | 'lines' | 'both'): Site => {
    // The third dataset before the second.
    if (side !== 'lines') site.objects.splice(2, 4, ...site.objects.slice(4, 6), ...site.objects.slice(2, 4));
    if (side !== 'objects') site.lines.splice(1, 2, ...site.lines.slice(1, 3).reverse());
    return site;
  };
  for (const side of ['objects', 'lines', 'both'] as const)
    await t.rejects(byMerge(turned(new Site(plan), side), 100), {
      kind: 'defect',
      message: /1\/b\/ comes after 1\/c\/, which is not the order of keys/,
    });
});
