// The same on the real stores: the schema of the cache is dropped, migrated anew and filled by one reconciliation of each
// dataset in the store; what the front ends read is what they read before.

import t from 'tap';
import { storedDatasets } from '../../actors/dataset/stored-dataset.ts';
import type { UserId } from '../../engine/model/ids.ts';
import { type DatasetMetadata, serializeMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey } from '../../engine/model/object-key.ts';
import type { ListFilter } from '../../engine/ports/dataset-queries.ts';
import { PostgresSite } from '../support/postgres-site.ts';
import {
  buildSite,
  datasetView,
  type RebuildSite,
  rebuilt,
  type SiteView,
  withoutVersions,
} from '../support/rebuild-site.ts';

const never = new AbortController().signal;

t.test('a dropped cache schema is built anew', async (t) => {
  const world = await PostgresSite.open(t, t.testdir());
  const site = await buildSite({
    store: world.store,
    plugin: world.plugin,
    accept: (upload, at) => world.accept(upload, at),
    enqueue: (job) => world.enqueue(job),
    finish: async () => void t.same(await world.finish(), []),
  });
  const forgotten = site.datasets.get('forgotten');
  if (!forgotten) throw new Error('nothing was forgotten');
  const before = await viewOf(world, site);
  const lists = await listsOf(world, site, forgotten);
  const targets = await targetsOf(world, forgotten);
  t.ok(targets.length > 30);
  const calls = world.plugin.calls.length;

  await world.dropCache();
  t.strictSame(
    await Promise.all([...site.datasets.values()].map((at) => world.catalog.find(at.dataset, never))),
    [...site.datasets.values()].map(() => undefined),
  );
  for await (const { owner, dataset } of storedDatasets(world.store.list('', {}, never)))
    await world.enqueue({ lane: 'reconciliation', owner, dataset, source: 'full-reconciler' });
  t.same(await world.finish(), []);

  const { forgotten: packed, ...after } = await viewOf(world, site);
  const { forgotten: twin, ...expected } = rebuilt(before, forgotten);
  t.strictSame(after, expected);
  t.strictSame(withoutVersions(packed), withoutVersions(twin));
  t.strictSame(await listsOf(world, site, forgotten), lists);
  let kept = 0;
  for await (const { size } of world.store.list(`${site.owner}/`, {}, never)) kept += size;
  t.equal(await world.uploads.usage(site.owner, never), kept, 'what is kept counts as before');
  t.strictSame(await targetsOf(world, forgotten), targets);
  t.same(
    world.plugin.calls
      .slice(calls)
      .map(({ kind, dataset }) => (dataset === forgotten.dataset ? `${kind} forgotten` : kind))
      .sort(),
    [
      ...['import', 'import', 'import forgotten'],
      ...['installData forgotten', 'installData forgotten', 'installMeta forgotten', 'installMeta forgotten'],
    ],
  );

  // Tokens of leases that the new cache gives are higher than those that the targets remember from the old one.
  const renamed = site.datasets.get('private');
  if (!renamed) throw new Error('no private dataset');
  const metadata = (await world.catalog.find(renamed.dataset, never))?.metadata;
  const document = { ...metadata, name: 'renamed' } as DatasetMetadata;
  await world.store.put(objectKey(renamed, 'vdi-meta.json'), Buffer.from(serializeMetadata(document)), {}, never);
  t.same(await world.finish(), []);
  t.same(await world.control.query('select name from control.dataset_meta where dataset_id = $1', [renamed.dataset]), [
    { name: 'renamed' },
  ]);
  t.same([...world.outcomes].sort(), ['done', 'failed', 'invalid'], 'no job is given back');
});

async function viewOf(world: PostgresSite, { datasets }: RebuildSite): Promise<SiteView> {
  const views: Record<string, SiteView[string]> = {};
  for (const [name, { dataset }] of datasets) {
    const viewed = await world.queries.view(dataset, never);
    if (!viewed) throw new Error(`no dataset '${name}'`);
    const { shares, newest: _newest, ...record } = viewed;
    views[name] = datasetView(record, await world.queries.files(dataset, never), shares);
  }
  return views;
}

/** What owner and reader find in their lists, apart from the upload that was not packed. */
async function listsOf(world: PostgresSite, site: RebuildSite, { dataset: apart }: DatasetAddress): Promise<unknown> {
  const list = async (viewer: UserId, ownership: ListFilter['ownership']) => {
    const found: unknown[] = [];
    for await (const item of world.queries.list({ viewer, ownership }, never))
      if (item.dataset !== apart)
        found.push([
          item.dataset,
          item.state,
          item.upload,
          item.import?.status,
          item.fileCount,
          item.fileBytes,
          item.shares,
        ]);
    return found;
  };
  return {
    owned: await list(site.owner, 'owned'),
    shared: await list(site.reader, 'shared'),
    any: await list(site.reader, 'any'),
  };
}

/** Rows of the control schema, of all datasets but one. */
async function targetsOf(world: PostgresSite, { dataset }: DatasetAddress): Promise<readonly unknown[]> {
  const rows: unknown[] = [];
  for (const query of [
    `select dataset_id, owner::text, type_name, deleted_status, accessibility from control.dataset`,
    `select dataset_id, target_id, install_type, status, message from control.dataset_install_message`,
    `select dataset_id, target_id, part, etag, modified from control.sync_control`,
    `select dataset_id, target_id, deleted_status from control.dataset_install`,
    `select dataset_id, user_id::text, project_id from control.available_user_datasets`,
  ])
    rows.push(...(await world.control.query(`${query} where dataset_id <> $1 order by 1, 2, 3`, [dataset])));
  return rows;
}
