// What Catalog and Jobs do together: a write of the catalog enqueues the job that it makes due.

import type { Test } from 'tap';
import type { LaneName } from '../../engine/model/event.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import { newTraceparent } from '../../engine/model/traceparent.ts';
import type { Catalog, CatalogChange } from '../../engine/ports/catalog.ts';
import type { ClaimedJob, Jobs } from '../../engine/ports/jobs.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import { metadataOf, newAddress } from '../support/dataset-samples.ts';
import { claim, claimOne, claimWhenWoken, complete } from './jobs.ts';

export interface NextJobsSetup {
  readonly catalog: Pick<Catalog, 'write' | 'find'>;
  readonly uploads: Uploads;
  readonly jobs: Jobs;
}

const signal = new AbortController().signal;
const traceparent = newTraceparent();

export function nextJobsConformance(t: Test, setup: (t: Test) => Promise<NextJobsSetup>): void {
  const open = async (t: Test) => {
    const { catalog, uploads, jobs } = await setup(t);
    const at = newAddress();
    await uploads.begin(at, 10, { bytes: 1_000 }, signal);
    await uploads.accept({ ...uploadOf(at), traceparent }, signal);
    const job = await claimOne(jobs, 'upload');
    const write = (lane: LaneName, eventId = 7) =>
      catalog.write(at.dataset, job.lease, changesOf(lane, eventId), signal);
    return { catalog, jobs, at, job, write };
  };

  t.test('with owner, type and trace of the dataset, and the event of the write', async (t) => {
    const { jobs, at, job, write } = await open(t);
    await write('import');
    await complete(jobs, job, { kind: 'done' });
    const { owner, dataset } = at;
    const next = { lane: 'import', owner, dataset, eventId: 7, source: 'upload-lane', traceparent, type: TYPE };
    t.match(await claimOne(jobs, 'import'), next);
  });

  t.test('it waits for the job that wrote, whose end wakes its lane', async (t) => {
    const { jobs, at, job, write } = await open(t);
    await write('import');
    t.strictSame(await claim(jobs, 'import'), []);
    const woken = claimWhenWoken(jobs, 'import');
    await complete(jobs, job, { kind: 'done' });
    t.match(await woken, [{ dataset: at.dataset }]);
  });

  t.test('a lane that has never looked is woken, too', async (t) => {
    const { jobs, at, job, write } = await open(t);
    const woken = claimWhenWoken(jobs, 'import');
    await write('import');
    await complete(jobs, job, { kind: 'done' });
    t.match(await woken, [{ dataset: at.dataset }]);
  });

  t.test('if the lane has a job of the dataset, that job takes the event over', async (t) => {
    const { jobs, at, job, write } = await open(t);
    await jobs.enqueue([{ lane: 'import', ...at, eventId: 3, source: 'object-store' }], signal);
    await write('import');
    await complete(jobs, job, { kind: 'done' });
    t.match(await claimOne(jobs, 'import'), { eventId: 7, source: 'upload-lane' });
    t.strictSame(await claim(jobs, 'import'), []);
  });

  t.test('without the lease nothing is written and nothing is enqueued', async (t) => {
    const { catalog, jobs, at, job, write } = await open(t);
    await complete(jobs, job, { kind: 'requeue', crashed: false });
    const again: ClaimedJob = await claimOne(jobs, 'upload');
    await t.rejects(write('import'), { kind: 'aborted', message: /lease lost/ });
    await complete(jobs, again, { kind: 'done' });
    t.strictSame(await claim(jobs, 'import'), []);
    t.match(await catalog.find(at.dataset, signal), { upload: { status: 'running' } });
  });
}

const TYPE = 'genelist:1.0';

const changesOf = (lane: LaneName, eventId: number): readonly CatalogChange[] => [
  { set: 'upload', status: 'success' },
  { set: 'next', lane, eventId, source: 'upload-lane' },
];

const uploadOf = (at: DatasetAddress) => ({
  ...at,
  metadata: metadataOf(at.owner),
  metaVersion: { modified: new Date(0), etag: 'one' },
  source: { kind: 'files', files: [{ name: 'a', size: 10 }] } as const,
  documents: [],
  properties: [],
  others: [],
  eventId: 1,
});
