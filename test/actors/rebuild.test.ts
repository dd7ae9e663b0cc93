// The cache is an index: lost with everything in it, and built again by one reconciliation of each dataset in the store,
// it says what it said before.

import t from 'tap';
import { storedDatasets } from '../../actors/dataset/stored-dataset.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import { LaneWorld } from '../support/lane-world.ts';
import {
  buildSite,
  datasetView,
  type RebuildSite,
  type RebuildWorld,
  rebuilt,
  type SiteView,
  withoutVersions,
} from '../support/rebuild-site.ts';

const never = new AbortController().signal;
let events = 1_000_000;

const rebuildWorld = (world: LaneWorld): RebuildWorld => ({
  store: world.store,
  plugin: world.plugin,
  accept: (upload, at) => world.accept(upload, at),
  enqueue: async (job) => world.jobs.enqueue({ ...job, eventId: ++events }),
  finish: () => world.finish(),
});

t.test('a cache that was lost is built anew from the store and the targets', async (t) => {
  const world = new LaneWorld(t.testdir());
  const site = await buildSite(rebuildWorld(world));
  const forgotten = site.datasets.get('forgotten');
  if (!forgotten) throw new Error('nothing was forgotten');
  const before = viewOf(world, site);
  const targets = targetsOf(world, forgotten);
  const keys = world.store.keys();
  const calls = world.calls.length;
  t.strictSame(statesOf(before), { live: 18, superseded: 4, deleted: 3 });

  world.dropCache();
  t.strictSame([...world.catalog.datasets], []);
  await reconcileAll(world);

  const { forgotten: packed, ...after } = viewOf(world, site);
  const { forgotten: twin, ...expected } = rebuilt(before, forgotten);
  t.strictSame(after, expected);
  t.strictSame(withoutVersions(packed), withoutVersions(twin));
  t.strictSame(targetsOf(world, forgotten), targets);
  // Nothing was installed again, and imported was only what cannot be known otherwise.
  const again = ['import', 'import', 'import', ...FORGOTTEN_INSTALLS];
  t.strictSame(world.calls.slice(calls).sort(), again.sort());
  const isKept = (key: string): boolean => !key.includes(forgotten.dataset);
  t.strictSame(world.store.keys().filter(isKept), keys.filter(isKept));

  const done = viewOf(world, site);
  const ended = world.calls.length;
  await reconcileAll(world);
  t.strictSame([viewOf(world, site), world.calls.length], [done, ended]);
});

const FORGOTTEN_INSTALLS = ['PlasmoSite', 'ToxoSite'].flatMap((id) => [`installData ${id}`, `installMeta ${id}`]);

/** As a full run of the reconciler: one job for each dataset that is found. */
async function reconcileAll(world: LaneWorld): Promise<void> {
  for await (const { owner, dataset } of storedDatasets(world.store.list('', {}, never)))
    world.jobs.enqueue({ lane: 'reconciliation', owner, dataset, eventId: ++events, source: 'full-reconciler' });
  await world.finish();
  t.same(world.jobRows(), []);
}

function viewOf(world: LaneWorld, { datasets }: RebuildSite): SiteView {
  const views = [...datasets].map(([name, at]) => {
    // What the store keeps is said where a dataset is registered; uploads and the store count the others.
    const { files, archives, shares, kept: _kept, ...record } = world.dataset(at);
    const { upload = [], install = [], document: documents = [], property: properties = [] } = files;
    const said = shares.map(({ recipient, offer, receipt }) => ({
      recipient,
      granted: offer === 'grant',
      accepted: receipt === 'accept',
    }));
    return [
      name,
      datasetView(record, { upload, install, documents, properties, ...(archives && { archives }) }, said),
    ] as const;
  });
  return Object.fromEntries(views);
}

/** What the targets hold of all datasets but one; the lease's token grows with every write. */
function targetsOf(world: LaneWorld, { dataset: apart }: DatasetAddress): unknown {
  const rows = [...world.schema.rows].filter(([dataset]) => dataset !== apart);
  return structuredClone(rows.map(([dataset, { token: _token, ...row }]) => [dataset, row]));
}

function statesOf(view: SiteView): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { record } of Object.values(view)) counts[record.state] = (counts[record.state] ?? 0) + 1;
  return counts;
}
