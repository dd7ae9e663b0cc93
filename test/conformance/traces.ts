// What Uploads, DatasetEdits and Jobs do together: a job tells the trace of the request that changed its dataset last.

import type { Test } from 'tap';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import { newTraceparent, type Traceparent } from '../../engine/model/traceparent.ts';
import type { Catalog } from '../../engine/ports/catalog.ts';
import type { DatasetEdits, DecidedEdit } from '../../engine/ports/dataset-edits.ts';
import type { Jobs } from '../../engine/ports/jobs.ts';
import type { AcceptedUpload, Uploads } from '../../engine/ports/uploads.ts';
import { metadataOf, newAddress } from '../support/dataset-samples.ts';

export interface TracesSetup {
  readonly catalog: Pick<Catalog, 'write'>;
  readonly uploads: Uploads;
  readonly edits: DatasetEdits;
  readonly jobs: Jobs;
}

export function tracesConformance(t: Test, setup: (t: Test) => Promise<TracesSetup>): void {
  const signal = new AbortController().signal;

  const open = async (t: Test, traceparent?: Traceparent) => {
    const { uploads, edits, jobs } = await setup(t);
    const at = newAddress();
    await uploads.begin(at, 0, { bytes: 1_000 }, signal);
    await uploads.accept({ ...uploadOf(at), ...(traceparent ? { traceparent } : {}) }, signal);
    /** Of the next job of the dataset, which is done then. */
    const trace = async (): Promise<Traceparent | undefined> => {
      const claim = { lane: 'upload', limit: 10, crowdedTypes: [], blockedTypes: [] } as const;
      await jobs.enqueue([{ lane: 'upload', ...at, eventId: 2, source: 'api' }], signal);
      const [job, ...others] = await jobs.completeAndFetch([], claim, signal);
      t.strictSame(others, []);
      if (!job) throw new Error('no job');
      await jobs.completeAndFetch([{ job, outcome: { kind: 'done' } }], { ...claim, limit: 0 }, signal);
      return job.traceparent;
    };
    const edit = (decided: Omit<DecidedEdit<undefined>, 'result'>) =>
      edits.edit(at.dataset, async () => ({ ...decided, result: undefined }), signal);
    const rename = { set: 'metadata', metadata: metadataOf(at.owner, { name: 'Another' }) } as const;
    return { trace, edit, rename };
  };

  t.test('of the upload, until a later request changes the dataset', async (t) => {
    const [first, second] = [newTraceparent(), newTraceparent()];
    const { trace, edit, rename } = await open(t, first);
    t.equal(await trace(), first);
    await edit({ changes: [rename], traceparent: second });
    t.equal(await trace(), second);
    t.equal(await trace(), second, 'also when nothing but a repeated event brought about the job');
  });

  t.test('a request that changes nothing leaves no trace, and neither does a change without one', async (t) => {
    const first = newTraceparent();
    const { trace, edit, rename } = await open(t, first);
    await edit({ changes: [], traceparent: newTraceparent() });
    await edit({ changes: [rename] });
    t.equal(await trace(), first);
  });

  t.test('also of a job that the metadata brought about before the dataset was accepted', async (t) => {
    const { uploads, catalog, jobs } = await setup(t);
    const at = newAddress();
    const traceparent = newTraceparent();
    const next = async (lane: 'upload' | 'import') => {
      const claim = { lane, limit: 10, crowdedTypes: [], blockedTypes: [] };
      const [job] = await jobs.completeAndFetch([], claim, signal);
      if (!job) throw new Error(`no job of ${lane}`);
      return {
        job,
        end: () => jobs.completeAndFetch([{ job, outcome: { kind: 'done' } }], { ...claim, limit: 0 }, signal),
      };
    };
    await uploads.begin(at, 0, { bytes: 1_000 }, signal);
    await jobs.enqueue([{ lane: 'import', ...at, eventId: 1, source: 'object-store' }], signal);
    await uploads.accept({ ...uploadOf(at), traceparent }, signal);
    const upload = await next('upload');
    await catalog.write(at.dataset, upload.job.lease, [{ set: 'uploadStored' }], signal);
    await upload.end();
    const imported = await next('import');
    await imported.end();
    t.equal(imported.job.traceparent, traceparent);
  });

  t.test('none when none is known', async (t) => {
    const { trace } = await open(t);
    t.equal(await trace(), undefined);
  });
}

const uploadOf = (at: DatasetAddress): AcceptedUpload => ({
  ...at,
  metadata: metadataOf(at.owner),
  metaVersion: { modified: new Date(0), etag: 'one' },
  source: { kind: 'files', files: [] },
  documents: [],
  properties: [],
  eventId: 1,
});
