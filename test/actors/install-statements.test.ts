// How many statements an install sends to the databases. Each is a round trip, and together they are most of what a small
// dataset costs.

import assert from 'node:assert/strict';
import t from 'tap';
import { versionOf } from '../../actors/dataset/dataset-versions.ts';
import { InstallLane } from '../../actors/lanes/install-lane.ts';
import { UpdateMetaLane } from '../../actors/lanes/update-meta-lane.ts';
import { PostgresCatalog } from '../../engine/adapters/catalog/catalog-postgres.ts';
import { controlMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import type { Postgres, Sql } from '../../engine/adapters/postgres/postgres.ts';
import { PostgresInstallTarget } from '../../engine/adapters/sites/install-target-postgres.ts';
import { type DatasetMetadata, serializeMetadata } from '../../engine/model/metadata.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { zipOf } from '../fixtures/zip-of.ts';
import { fullMetadataOf, newAddress, PLASMO, TOXO } from '../support/dataset-samples.ts';
import { InProcessTasks } from '../support/in-process-tasks.ts';
import { TUNING, TYPES } from '../support/lane-settings.ts';
import { PostgresSite } from '../support/postgres-site.ts';

const never = new AbortController().signal;
const DONE = { kind: 'done' };

/** The database, with the number of statements so far. Those that begin and end a transaction count, too. */
function counted(db: Postgres) {
  const counter = { statements: 0 };
  const query: Sql['query'] = (text, values, name) => {
    counter.statements++;
    return db.query(text, values, name);
  };
  const transaction: Postgres['transaction'] = (work, signal) => {
    counter.statements += 2;
    return db.transaction((sql) => {
      const inner: Sql['query'] = (text, values, name) => {
        counter.statements++;
        return sql.query(text, values, name);
      };
      return work({ query: inner });
    }, signal);
  };
  return { counter, db: { query, grouped: { query }, transaction } };
}

t.test('the fewest statements that an install and an edit of metadata need', async (t) => {
  const site = await PostgresSite.open(t, t.testdir());
  const cache = counted(site.db);
  const sites = await Promise.all(
    [PLASMO, TOXO].map(async (id) => {
      await migrate(site.control, id, await controlMigrations(), never);
      const { counter, db } = counted(site.control);
      return { counter, target: new PostgresInstallTarget(db, { id, displayName: id, schema: id, dataSchema: id }) };
    }),
  );
  const ports = {
    catalog: new PostgresCatalog(cache.db),
    jobs: site.jobs,
    store: site.store,
    tasks: new InProcessTasks({ store: site.store, plugins: new Map([['genes', site.plugin]]) }),
    targets: new Map(sites.map(({ target }) => [target.id, target])),
    clock: systemClock,
    log: silentLogger(),
    random: () => 0,
  };
  const install = new InstallLane(ports, TYPES, { data: TUNING.retry, meta: TUNING.retry });
  const updateMeta = new UpdateMetaLane(ports, TYPES, TUNING.retry);
  const at = newAddress();
  const claim = async (lane: 'install' | 'updateMeta'): Promise<ClaimedJob> => {
    await site.enqueue({ lane, ...at, source: 'admin' });
    const request = { lane, limit: 1, crowdedTypes: [], blockedTypes: [] };
    const [job] = await site.jobs.completeAndFetch([], request, never);
    assert(job, lane);
    return job;
  };
  const complete = async (job: ClaimedJob): Promise<void> => {
    const request = { lane: job.lane, limit: 0, crowdedTypes: [], blockedTypes: [] };
    await site.jobs.completeAndFetch([{ job, outcome: { kind: 'done' } }], request, never);
  };
  const put = (object: Parameters<typeof objectKey>[1], content: string | Buffer) =>
    site.store.put(objectKey(at, object), Buffer.from(content as string), {}, never);
  const putMetadata = (more: Partial<DatasetMetadata>) => {
    const metadata = { ...fullMetadataOf(at.owner, at.dataset), installTargets: [PLASMO, TOXO], ...more };
    return Promise.all([metadata, put('vdi-meta.json', serializeMetadata(metadata))]);
  };
  const count = () => {
    const numbers = [cache.counter, ...sites.map(({ counter }) => counter)].map(({ statements }) => statements);
    for (const { counter } of [cache, ...sites]) counter.statements = 0;
    return numbers;
  };

  const [metadata, meta] = await putMetadata({});
  const data = await put('install-ready.zip', await zipOf([{ name: 'genes.txt', text: 'PF3D7_0100000' }]));
  await put('vdi-manifest.json', '{"inputFiles":[],"dataFiles":[]}');
  const first = await claim('install');
  const imported = [
    { set: 'import', status: 'complete', messages: [] },
    { set: 'sync', part: 'meta', version: versionOf(meta) },
    { set: 'sync', part: 'data', version: versionOf(data) },
  ] as const;
  await site.catalog.register(at, metadata, imported, first.lease, never);
  t.match(await install.run(first, never), DONE);
  t.same(count(), [6, 3, 3], 'cache: the record, one begin, then as on the sites: begin, data over, metadata over');
  await complete(first);

  const shown = (name: string) =>
    Promise.all(
      [PLASMO, TOXO].map((id) =>
        site.control.query(`select from "${id}".available_user_datasets where project_id = $1 and name = $2`, [
          id,
          name,
        ]),
      ),
    );
  t.same(await shown(metadata.name), [[{}], [{}]]);
  t.same(await site.jobs.depths(never).then((lanes) => lanes.filter(({ queued }) => queued > 0)), []);

  await putMetadata({ name: 'Renamed' });
  const edit = await claim('updateMeta');
  t.match(await updateMeta.run(edit, never), DONE);
  t.same(count(), [6, 3, 3], 'cache: the record, its new metadata, then begin and over');
  t.same(await shown('Renamed'), [[{}], [{}]]);
  await complete(edit);

  const again = await claim('install');
  t.match(await install.run(again, never), DONE);
  t.same(count(), [1, 1, 1], 'nothing to do');
});
