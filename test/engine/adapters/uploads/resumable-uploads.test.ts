import t, { type Test } from 'tap';
import { PostgresResumableUploads } from '../../../../engine/adapters/uploads/resumable-uploads-postgres.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import { newUploadId, type UploadId } from '../../../../engine/model/ids.ts';
import { resumableUploadsConformance } from '../../../conformance/resumable-uploads.ts';
import { acceptedUpload } from '../../../conformance/uploads.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { livingProcess } from '../../../support/database.ts';
import { newAddress } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const ABANDONED = { kind: 'transient', message: /was abandoned/ };
const usage = async (owner: string): Promise<number> =>
  (await db.query<{ bytes: number }>('select bytes from owner_usage where owner_id = $1::numeric', [owner]))[0]
    ?.bytes ?? 0;

resumableUploadsConformance(t, async (t) => {
  const [one, two] = [await livingProcess(t, db), await livingProcess(t, db)];
  return {
    uploads: new PostgresResumableUploads(db, one.instance),
    other: new PostgresResumableUploads(db, two.instance),
    die: one.die,
    usage,
  };
});

/** Two processes, and a resumable upload of 100 bytes that the first one holds. */
async function setup(t: Test, offset = 100) {
  const [one, two] = [await livingProcess(t, db), await livingProcess(t, db)];
  const resumable = new PostgresResumableUploads(db, one.instance);
  const uploads = new PostgresUploads(db, { instance: one.instance });
  const elsewhere = new PostgresUploads(db, { instance: two.instance });
  const at = newAddress();
  const id = newUploadId((bytes) => crypto.getRandomValues(bytes));
  const expiresMs = Date.now() + 60_000;
  const upload = { id, owner: at.owner, length: 100, fileName: 'a.txt', metadata: '', expiresMs };
  await resumable.create(upload, { bytes: 1_000, uploads: 5 }, signal);
  const claim = await resumable.claim(id, at.owner, Date.now(), signal);
  if (claim === undefined || claim === 'held') throw new Error('no claim');
  await resumable.advance(claim, { offset, place: undefined, expiresMs }, signal);
  const accept = async (taken: readonly UploadId[], by = uploads, to = at) => {
    await by.begin(to, 5, { bytes: 1_000 }, signal);
    const source = { kind: 'files', files: [{ name: 'a.txt', size: 100 }] } as const;
    await by.accept(acceptedUpload(to, { source, taken, others: [] }), signal);
  };
  return { at, id, claim, resumable, uploads, elsewhere, accept };
}

t.test('the acceptance of a dataset uses an upload up, and moves what it reserves', async (t) => {
  const { at, id, resumable, accept } = await setup(t);
  t.equal(await usage(at.owner), 100);
  await accept([id]);
  t.equal(await usage(at.owner), 100);
  t.equal(await resumable.find(id, at.owner, signal), undefined);
  t.ok((await resumable.leftovers(Date.now(), signal)).includes(id));
  await resumable.forget(id, signal);
  t.equal(await usage(at.owner), 100, 'they are the dataset’s');
  const again = newAddress(at.owner);
  await t.rejects(accept([id], undefined, again), ABANDONED);
  t.strictSame(await db.query('select from dataset where dataset_id = $1', [again.dataset]), []);
});

t.test('no upload is used that is not whole, not ours, not there, or another owner’s', async (t) => {
  const unfinished = await setup(t, 99);
  const { at, id, elsewhere, accept } = await setup(t);
  const missing = newUploadId((bytes) => crypto.getRandomValues(bytes));
  await t.rejects(unfinished.accept([unfinished.id]), ABANDONED);
  await t.rejects(accept([id], elsewhere), ABANDONED, 'another process holds it');
  await t.rejects(accept([id, missing], undefined, newAddress(at.owner)), ABANDONED);
  await t.rejects(accept([id], undefined, newAddress()), ABANDONED);
  t.strictSame(
    await db.query(`select from resumable_upload where state <> 'open' and id = any($1)`, [[id, unfinished.id]]),
    [],
  );
});

t.test('an owner’s usage that is counted anew has the same total', async (t) => {
  const { at } = await setup(t);
  const before = await usage(at.owner);
  await db.query('truncate kept_object');
  t.equal(await usage(at.owner), before);
});
