import t, { type Test } from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import type { EventSource, LaneName } from '../../../../engine/model/event.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { DatasetAddress } from '../../../../engine/model/object-key.ts';
import type { JobRequest } from '../../../../engine/ports/jobs.ts';
import { uploadsConformance } from '../../../conformance/uploads.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeLeaseTable } from '../../../fakes/fake-lease-table.ts';
import { FakeUploads } from '../../../fakes/fake-uploads.ts';
import { cacheDatabase, grantLease } from '../../../support/cache-database.ts';
import { livingProcess } from '../../../support/database.ts';
import { metadataOf, newAddress, newUser } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const catalog = new PostgresCatalog(db);
const grant = (name: string) => grantLease(db, name);

interface JobRow {
  readonly lane: LaneName;
  readonly owner: UserId;
  readonly dataset: DatasetId;
  readonly eventId: number;
  readonly source: EventSource;
}

/** A process of its own: an instance id with its session lock. */
async function setup(t: Test) {
  const { instance, die } = await livingProcess(t, db);
  const uploads = new PostgresUploads(db, { instance });
  const jobs = () =>
    db.query<JobRow>(
      'select lane, owner::text as owner, dataset_id as dataset, event_id as "eventId", source from job order by id',
    );
  return { uploads, catalog, jobs, grant, die };
}

t.test('PostgreSQL', async (t) => {
  uploadsConformance(t, (t) => setup(t));
});

t.test('fake', async (t) => {
  uploadsConformance(t, async () => {
    const leases = new FakeLeaseTable();
    const fakeCatalog = new FakeCatalog(leases.holds);
    const enqueued: JobRequest[] = [];
    const uploads = new FakeUploads(fakeCatalog, {
      holds: leases.holds,
      enqueueJobs: async (requests) => {
        enqueued.push(...requests);
      },
    });
    return {
      uploads,
      catalog: fakeCatalog,
      jobs: async () => enqueued,
      grant: leases.grant,
      die: async () => {
        uploads.alive = false;
      },
    };
  });
});

const acceptedOf = (at: DatasetAddress) => ({
  ...at,
  metadata: metadataOf(at.owner),
  metaVersion: { modified: new Date(0), etag: 'e' },
  source: { kind: 'files', files: [{ name: 'a', size: 10 }] } as const,
  documents: [{ name: 'd', size: 1 }],
  others: [{ name: 'vdi-meta.json', size: 30 }],
  properties: [],
  eventId: 1,
});

t.test('an acceptance whose job cannot be enqueued leaves the upload as it was', async (t) => {
  const { uploads } = await setup(t);
  const at = newAddress();
  await uploads.begin(at, 100, { bytes: 1_000 }, signal);
  await db.query('alter table job add constraint no_such_event check (event_id <> 13)');
  await t.rejects(uploads.accept({ ...acceptedOf(at), eventId: 13 }, signal), { message: /no_such_event/ });
  await db.query('alter table job drop constraint no_such_event');
  t.equal(await catalog.find(at.dataset, signal), undefined);
  t.equal(await uploads.usage(at.owner, signal), 100);
  await uploads.abandon(at.dataset, signal);
});

t.test('the counter of an owner is what a full count gives, however rows come and go', async (t) => {
  const { uploads } = await setup(t);
  const owner = newUser();
  const addresses = Array.from({ length: 6 }, () => newAddress(owner));
  await Promise.all(
    addresses.map(async (at, n) => {
      // Whichever comes first may have settled: the limit must hold them all.
      t.equal(await uploads.begin(at, 100 + n, { bytes: 100_000 }, signal), 'begun');
      if (n > 0) await uploads.accept(acceptedOf(at), signal);
      if (n > 1) await catalog.write(at.dataset, await grant(at.dataset), [{ set: 'uploadStored' }], signal);
    }),
  );
  const [counted] = await db.query<{ bytes: string }>(
    `select (select sum(reserved_bytes) from upload where owner_id = $1::numeric)
       + (select sum(raw_bytes) from dataset where owner_id = $1::numeric)
       + (select sum(bytes) from kept_object where owner_id = $1::numeric) as bytes`,
    [owner],
  );
  const kept = 5 * (1 + 30);
  t.equal(await uploads.usage(owner, signal), 100 + 10 + kept);
  t.equal(await uploads.usage(owner, signal), Number(counted?.bytes));

  await db.query(`update dataset set state = 'deleted' where owner_id = $1::numeric and raw_bytes > 3000`, [owner]);
  t.equal(await uploads.usage(owner, signal), 100 + 10 + kept, 'deleted ones too');
  await db.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, upload_status, import_status, raw_bytes)
     select 'bulk' || n || $1, $1::numeric, 'bulk', 0, case when n % 2 = 0 then 'live' else 'deleted' end, 't', '1', '{}',
       'private', 'n', 'success', 'queued', 10 from generate_series(1, 1000) n`,
    [owner],
  );
  t.equal(await uploads.usage(owner, signal), 100 + 10 + 10_000 + kept);
  await db.query('delete from dataset where owner_id = $1::numeric', [owner]);
  t.equal(await uploads.usage(owner, signal), 100);
  t.same(await db.query(`select dataset_id from upload where owner_id = $1::numeric`, [owner]), [
    { dataset_id: addresses[0]?.dataset },
  ]);
});

t.test('two growing uploads of one owner do not pass the limit together', async (t) => {
  const { uploads } = await setup(t);
  const owner = newUser();
  const both = [newAddress(owner), newAddress(owner)];
  for (const at of both) await uploads.begin(at, 100, { bytes: 1_000 }, signal);
  const grown = await Promise.all(both.map((at) => uploads.grow(at.dataset, 600, 1_000, signal)));
  t.same(grown.sort(), [false, true]);
  t.equal(await uploads.usage(owner, signal), 700);
  for (const at of both) await uploads.abandon(at.dataset, signal);
});

t.test('emptying the catalog empties the counters', async (t) => {
  const { uploads } = await setup(t);
  const at = newAddress();
  await uploads.begin(at, 100, { bytes: 1_000 }, signal);
  await uploads.accept(acceptedOf(at), signal);
  await db.query('truncate dataset cascade');
  t.equal(await uploads.usage(at.owner, signal), 0);
});
