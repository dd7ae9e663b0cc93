// One thing is wrong with an installed dataset, and nobody was told. A full run finds it, the lanes put it right, and the
// next full run finds nothing to do: reconciler and reconciliation lane agree on what is due.

import t, { type Test } from 'tap';
import {
  type DatasetAddress,
  type DatasetObject,
  fileKey,
  objectKey,
  SHARE_OBJECTS,
  shareKey,
} from '../../engine/model/object-key.ts';
import type { CatalogChange } from '../../engine/ports/catalog.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import { newUser, PLASMO } from '../support/dataset-samples.ts';
import { fullRun } from '../support/full-run.ts';
import { installedWorld } from '../support/lane-start.ts';
import type { LaneWorld } from '../support/lane-world.ts';

const never = new AbortController().signal;
const STALE = { modified: new Date(0), etag: 'old' };
const RECIPIENT = newUser();

type Fault = (world: LaneWorld, at: DatasetAddress) => unknown;

/** In the cache. */
const cache =
  (...changes: readonly CatalogChange[]): Fault =>
  (world, at) =>
    world.catalog.apply(at.dataset, changes);
/** In one target, written with the token of its last holder. */
const site =
  (change: (target: InstallTarget, at: DatasetAddress, token: number) => Promise<void>): Fault =>
  async (world, at) => {
    const [target, row] = [world.targets.get(PLASMO), world.schema.rows.get(at.dataset)];
    if (!target || !row) throw new Error('not installed');
    await change(target, at, row.token);
  };
/** In the store, which tells nobody. */
const store =
  (change: (world: LaneWorld, at: DatasetAddress) => Promise<unknown>): Fault =>
  async (world, at) => {
    const told = world.store.changes.length;
    await change(world, at);
    world.store.changes.splice(told);
  };
const removed = (...objects: DatasetObject[]): Fault =>
  store((world, at) =>
    world.store.remove(
      objects.map((object) => objectKey(at, object)),
      never,
    ),
  );
const put = (keyOf: (at: DatasetAddress) => string, content = ''): Fault =>
  store((world, at) => world.store.put(keyOf(at), Buffer.from(content), {}, never));

/** Everything that has to be as if nothing had happened, statuses and versions included. */
const view = async (world: LaneWorld, at: DatasetAddress) => ({
  record: await world.record(at),
  control: await world.control(at),
  keys: world.keys(at),
  jobs: world.jobRows(),
  attempts: await world.attempts(at),
  leases: world.leases.held(),
});

async function installed(t: Test): Promise<{ world: LaneWorld; at: DatasetAddress }> {
  const { world, at } = await installedWorld(t, { properties: { 'p.tsv': 'x' } });
  await world.share(at, { recipient: RECIPIENT, offer: 'grant', receipt: 'accept' });
  await world.finish();
  await world.clock.advance(86_400_000);
  return { world, at };
}

const data = 'data' as const;
const MENDED: Readonly<Record<string, Fault>> = {
  'the cache forgot the dataset': (world, at) => world.catalog.datasets.delete(at.dataset),
  'the cache takes it for deleted': cache({ set: 'state', state: 'deleted' }),
  'the cache takes it for superseded': cache({ set: 'state', state: 'superseded' }),
  'the cache has old metadata': cache({ set: 'sync', part: 'meta', version: STALE }),
  'the cache has old shares': cache({ set: 'sync', part: 'shares', version: STALE }, { set: 'shares', shares: [] }),
  'the cache has old data': cache({ set: 'sync', part: 'data', version: STALE }),
  'the end of the upload was not written down': cache({ set: 'upload', status: 'running' }),
  'the job of the import was lost': cache({ set: 'import', status: 'queued', messages: [] }),
  'the import was cut off': cache({ set: 'import', status: 'in-progress', messages: [] }),
  'the raw upload is left over': put((at) => fileKey(at, 'raw', 'genes.txt')),
  'an upload error is left over': put((at) => objectKey(at, 'upload-error.json'), '{}'),
  'a target lost its rows': site((target, { dataset }, token) => target.purge(dataset, token, never)),
  'a target takes it for deleted': site((target, { dataset }, token) => target.setDeleted(dataset, 2, token, never)),
  'a target takes it for uninstalled': site((target, { dataset }, token) =>
    target.setDeleted(dataset, 1, token, never),
  ),
  'an install was cut off': site((target, { dataset }, token) =>
    target.write(dataset, { messages: { [data]: { status: 'running' } } }, token, never),
  ),
  'an install is wanted again': site((target, { dataset }, token) =>
    target.write(dataset, { messages: { [data]: { status: 'ready-for-reinstall' } } }, token, never),
  ),
  'a target has old data': site((target, { dataset }, token) =>
    target.write(dataset, { messages: { [data]: { status: 'complete', version: STALE } } }, token, never),
  ),
  'a target has old metadata': site((target, { dataset }, token) =>
    target.write(dataset, { messages: { meta: { status: 'complete', version: STALE } } }, token, never),
  ),
  'a target has old shares': site((target, { dataset }, token) =>
    target.writeVisibility(dataset, [], STALE, token, never),
  ),
};

for (const [name, fault] of Object.entries(MENDED))
  t.test(`${name}: found, and as if nothing had happened`, async (t) => {
    const { world, at } = await installed(t);
    const before = await view(world, at);
    await fault(world, at);
    t.match(await fullRun(world), { reconciled: 1, deleted: 0, malformed: 0 });
    t.same(await view(world, at), before);
    t.match(await fullRun(world), { reconciled: 0 });
  });

const CHANGED: Readonly<Record<string, readonly [Fault, state: string]>> = {
  'the data are gone': [removed('install-ready.zip'), 'live'],
  'a property was added': [put((at) => fileKey(at, 'datasetProperties', 'q.tsv')), 'live'],
  'a share was taken back': [put((at) => shareKey(at, RECIPIENT, SHARE_OBJECTS[0]), '{"action":"revoke"}'), 'live'],
  'it was deleted': [put((at) => objectKey(at, 'delete-flag')), 'deleted'],
  'it was superseded': [put((at) => objectKey(at, 'revised-flag')), 'superseded'],
};

for (const [name, [fault, state]] of Object.entries(CHANGED))
  t.test(`${name}: found, carried through, and found no more`, async (t) => {
    const { world, at } = await installed(t);
    await fault(world, at);
    t.match(await fullRun(world), { reconciled: 1, deleted: 0, malformed: 0 });
    t.same([world.dataset(at).state, world.jobRows()], [state, []]);
    await world.clock.advance(86_400_000);
    t.match(await fullRun(world), { reconciled: 0 });
  });

for (const side of ['everybody', 'only the targets'])
  t.test(`a dataset that is gone from the store, and that ${side} knew, is gone everywhere`, async (t) => {
    const { world, at } = await installed(t);
    const other = await world.accept();
    await world.finish();
    if (side !== 'everybody') world.catalog.datasets.delete(at.dataset);
    const keys = world.keys(at).map((path) => `${at.owner}/${at.dataset}/${path}`);
    await store(() => world.store.remove(keys, never))(world, at);
    const wouldDelete = { cache: side === 'everybody' ? 1 : 0, PlasmoSite: 1, ToxoSite: 1 };
    t.match(await fullRun(world), { listed: 1, deleted: 1, reconciled: 0, braked: undefined, wouldDelete });
    t.same([[...world.catalog.datasets.keys()], [...world.schema.rows.keys()]], [[other.dataset], [other.dataset]]);
    t.match(await fullRun(world), { listed: 1, deleted: 0, wouldDelete: { cache: 0, PlasmoSite: 0, ToxoSite: 0 } });
  });
