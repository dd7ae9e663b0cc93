// What every Catalog does.

import type { Test } from 'tap';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import type { Catalog, CatalogChange, DatasetRecord, StoredShare } from '../../engine/ports/catalog.ts';
import type { Lease } from '../../engine/ports/jobs.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import { fullMetadataOf, metadataOf, newAddress, newUser, PLASMO, TOXO } from '../support/dataset-samples.ts';
import { catalogLifeConformance } from './catalog-life.ts';

/** What a Catalog keeps of a dataset for others to read. */
export interface KeptOfDataset {
  /** By folder and then by name, without empty folders. */
  readonly files: Readonly<Partial<Record<'upload' | 'install' | 'document' | 'property', readonly FileEntry[]>>>;
  /** Ascending by recipient. */
  readonly shares: readonly StoredShare[];
}

export interface CatalogSetup {
  readonly catalog: Catalog;
  /** Beside it: how datasets are received. */
  readonly uploads: Uploads;
  readonly kept: (dataset: DatasetId) => Promise<KeptOfDataset>;
  /** The lease of that name, taken from its holder if it has one. */
  readonly grant: (name: string) => Promise<Lease>;
  readonly release: (lease: Lease) => Promise<void>;
}

export function catalogConformance(t: Test, setup: (t: Test) => Promise<CatalogSetup>): void {
  const signal = new AbortController().signal;
  const version = { modified: new Date('2026-03-04T05:06:07.089Z'), etag: 'abc-1' };

  /** A registered dataset under our lease. */
  const open = async (t: Test, metadataFor: typeof fullMetadataOf = (owner) => metadataOf(owner)) => {
    const { catalog, grant, release, kept } = await setup(t);
    const at = newAddress();
    const metadata = metadataFor(at.owner, at.dataset);
    const lease = await grant(at.dataset);
    await catalog.register(at, metadata, [], lease, signal);
    const record: DatasetRecord = {
      ...at,
      state: 'live',
      metadata,
      upload: { status: 'success', message: undefined },
      import: { status: 'queued', messages: [] },
      installs: [],
      sync: {},
    };
    const write = (...changes: CatalogChange[]) => catalog.write(at.dataset, lease, changes, signal);
    const found = () => catalog.find(at.dataset, signal);
    return { catalog, grant, release, at, lease, record, write, found, kept: () => kept(at.dataset) };
  };

  catalogLifeConformance(t, setup);

  t.test('knows nothing of a dataset that was never registered', async (t) => {
    const { catalog } = await setup(t);
    t.equal(await catalog.find(newAddress().dataset, signal), undefined);
    t.equal(await catalog.findWithAttempts(newAddress().dataset, signal), undefined);
    t.same(await catalog.attempts(newAddress().dataset, signal), []);
  });

  t.test('a registered dataset is live and uploaded, with its metadata to the last digit', async (t) => {
    const { record, found } = await open(t, fullMetadataOf);
    t.strictSame(await found(), record);
  });

  t.test('an import that is due begins with the look at its dataset', async (t) => {
    const { catalog, at, lease, record, write, found } = await open(t);
    const begin = () => catalog.beginImport(at.dataset, lease, signal);
    t.strictSame(await begin(), { ...record, attempts: [] }, 'as it was before');
    const begun = { ...record, import: { status: 'in-progress', messages: [] } };
    t.strictSame(await found(), begun);
    t.strictSame(await begin(), { ...begun, attempts: [] }, 'again, after a crash');
    await write({ set: 'attempt', target: PLASMO, kind: 'data', attempts: 1, notBefore: undefined, started: false });
    t.match(await begin(), { attempts: [{ target: PLASMO, attempts: 1 }] });
  });

  t.test('an import that is not due does not begin', async (t) => {
    const { catalog, grant, release, at, lease, write, found } = await open(t);
    const imported = { set: 'import', status: 'queued', messages: ['why'] } as const;
    const cases: readonly (readonly CatalogChange[])[] = [
      [{ ...imported, status: 'complete' }],
      [{ ...imported, status: 'invalid' }],
      [{ ...imported, status: 'failed' }],
      [imported, { set: 'upload', status: 'running' }],
      [
        { set: 'upload', status: 'success' },
        { set: 'state', state: 'superseded' },
      ],
      [{ set: 'state', state: 'deleting' }],
    ];
    for (const changes of cases) {
      await write(...changes);
      const before = await found();
      t.strictSame(await catalog.beginImport(at.dataset, lease, signal), { ...before, attempts: [] });
      t.strictSame(await found(), before, JSON.stringify(changes));
    }
    await write({ set: 'state', state: 'live' });
    const before = await found();
    await release(lease);
    await t.rejects(catalog.beginImport(at.dataset, lease, signal), { kind: 'aborted', message: /lease lost/ });
    t.strictSame(await found(), before, 'nor without the lease');
    const unknown = newAddress().dataset;
    t.equal(await catalog.beginImport(unknown, await grant(unknown), signal), undefined);
  });

  t.test('writes many changes at once', async (t) => {
    const { at, record, write, found } = await open(t);
    const metadata = fullMetadataOf(at.owner, at.dataset);
    await write(
      { set: 'metadata', metadata },
      { set: 'import', status: 'invalid', messages: ['line 2: no gene', 'line 1: no gene'] },
      { set: 'uploadFiles', files: [{ name: 'a.txt', size: 3 }] },
      { set: 'installFiles', files: [{ name: 'b/c.txt', size: 4 }] },
      { set: 'install', target: TOXO, kind: 'meta', status: 'complete', messages: [] },
      { set: 'install', target: PLASMO, kind: 'meta', status: 'complete', messages: [] },
      { set: 'install', target: PLASMO, kind: 'data', status: 'missing-dependency', messages: ['no build 68'] },
      { set: 'sync', part: 'meta', version },
      { set: 'sync', part: 'data', version },
      { set: 'state', state: 'superseded' },
    );
    t.strictSame(await found(), {
      ...record,
      metadata,
      state: 'superseded',
      import: { status: 'invalid', messages: ['line 2: no gene', 'line 1: no gene'] },
      installs: [
        { target: PLASMO, kind: 'data', status: 'missing-dependency', messages: ['no build 68'] },
        { target: PLASMO, kind: 'meta', status: 'complete', messages: [] },
        { target: TOXO, kind: 'meta', status: 'complete', messages: [] },
      ],
      sync: { meta: version, data: version },
    });
  });

  t.test('a state that is to follow another one is written only in the place of that', async (t) => {
    const { record, write, found } = await open(t);
    await write({ set: 'state', state: 'deleted', from: 'deleting' });
    t.strictSame(await found(), record);
    const messages: string[] = [];
    await write({ set: 'state', state: 'deleting', from: 'live' }, { set: 'import', status: 'complete', messages });
    t.match(await found(), { state: 'deleting', import: { status: 'complete' } });
    await write({ set: 'state', state: 'superseded', from: 'live' }, { set: 'import', status: 'invalid', messages });
    t.match(await found(), { state: 'deleting', import: { status: 'invalid' } }, 'the other changes are written');
    await write({ set: 'state', state: 'deleted', from: 'deleting' });
    t.match(await found(), { state: 'deleted' });
  });

  t.test('a later value replaces the earlier, also within one write', async (t) => {
    const { record, write, found } = await open(t);
    const later = { ...version, etag: 'two' };
    await write(
      { set: 'install', target: PLASMO, kind: 'data', status: 'running', messages: [] },
      { set: 'install', target: PLASMO, kind: 'data', status: 'failed-installation', messages: ['try 1'] },
      { set: 'sync', part: 'shares', version },
      { set: 'import', status: 'in-progress', messages: [] },
      { set: 'import', status: 'complete', messages: [] },
    );
    await write(
      { set: 'install', target: PLASMO, kind: 'data', status: 'complete', messages: [] },
      { set: 'sync', part: 'shares', version: later },
    );
    t.strictSame(await found(), {
      ...record,
      import: { status: 'complete', messages: [] },
      installs: [{ target: PLASMO, kind: 'data', status: 'complete', messages: [] }],
      sync: { shares: later },
    });
  });

  t.test('what is trimmed has no installs and no version of data any more, and keeps the rest', async (t) => {
    const { record, write, found, kept } = await open(t);
    await write(
      { set: 'state', state: 'superseded' },
      { set: 'installFiles', files: [{ name: 'c/d', size: 6 }] },
      { set: 'uploadFiles', files: [{ name: 'raw', size: 5 }] },
      { set: 'install', target: PLASMO, kind: 'data', status: 'complete', messages: ['odd'] },
      { set: 'install', target: TOXO, kind: 'meta', status: 'complete', messages: [] },
      { set: 'sync', part: 'meta', version },
      { set: 'sync', part: 'data', version },
    );
    await write({ set: 'installFiles', files: [] }, { set: 'trimmed' });
    t.strictSame(await found(), { ...record, state: 'superseded', sync: { meta: version } });
    const { files } = await kept();
    t.strictSame([files.upload, files.install ?? []], [[{ name: 'raw', size: 5 }], []]);
    await write({ set: 'trimmed' });
    t.strictSame(await found(), { ...record, state: 'superseded', sync: { meta: version } });
  });

  t.test("a folder's files are replaced as a whole, the other folders' stay", async (t) => {
    const { write, kept } = await open(t);
    const file = (name: string, size: number): FileEntry => ({ name, size });
    await write(
      { set: 'documentFiles', files: [file('b.pdf', 2), file('a.pdf', 1)] },
      { set: 'propertyFiles', files: [file('a.pdf', 2 ** 40)] },
      { set: 'uploadFiles', files: [file('raw', 5)] },
      { set: 'installFiles', files: [file('c/d', 6)] },
    );
    const others = { upload: [file('raw', 5)], install: [file('c/d', 6)] };
    t.strictSame((await kept()).files, {
      ...others,
      document: [file('a.pdf', 1), file('b.pdf', 2)],
      property: [file('a.pdf', 2 ** 40)],
    });
    await write(
      { set: 'documentFiles', files: [file('b.pdf', 3), file('c.pdf', 4), file('b.pdf', 5)] },
      { set: 'propertyFiles', files: [] },
    );
    t.strictSame((await kept()).files, { ...others, document: [file('b.pdf', 5), file('c.pdf', 4)] });
  });

  t.test('shares are replaced as a whole; a word that was not said is none', async (t) => {
    const { record, write, found, kept } = await open(t);
    const [ann, bob, cay, dan] = Array.from({ length: 4 }, newUser).sort() as [UserId, UserId, UserId, UserId];
    const first: StoredShare[] = [
      { recipient: ann, offer: 'grant', receipt: 'accept' },
      { recipient: bob, offer: 'revoke' },
      { recipient: cay, receipt: 'reject' },
      { recipient: dan },
    ];
    await write({ set: 'shares', shares: first.toReversed() });
    t.strictSame((await kept()).shares, first);
    // Bob's word is withdrawn, Cay's turned; the last of two words of Ann counts.
    const second: StoredShare[] = [
      { recipient: ann, offer: 'revoke' },
      { recipient: bob },
      { recipient: cay, offer: 'grant', receipt: 'accept' },
    ];
    await write({ set: 'shares', shares: [{ recipient: ann, offer: 'grant', receipt: 'reject' }, ...second] });
    t.strictSame((await kept()).shares, second);
    await write({ set: 'shares', shares: [] });
    t.strictSame((await kept()).shares, []);
    t.strictSame(await found(), record, 'nothing else changed');
  });

  t.test('the import shows only once the upload succeeded', async (t) => {
    const { record, write, found } = await open(t);
    await write({ set: 'upload', status: 'rejected', message: 'zip: encrypted' });
    t.strictSame(await found(), {
      ...record,
      upload: { status: 'rejected', message: 'zip: encrypted' },
      import: undefined,
    });
    await write({ set: 'upload', status: 'success' });
    t.strictSame(await found(), record);
  });

  type Opened = Awaited<ReturnType<typeof open>>;
  /** Whoever has this lease changes nothing. */
  const fact = (name: string, leaseOf: (opened: Opened) => Promise<Lease>) =>
    t.test(name, async (t) => {
      const opened = await open(t);
      const { catalog, at, record, found } = opened;
      const lease = await leaseOf(opened);
      const refused = { kind: 'aborted', message: /lease lost/ };
      for (const change of [
        { set: 'state', state: 'deleting' },
        { set: 'install', target: PLASMO, kind: 'data', status: 'running', messages: [] },
        { set: 'attempt', target: PLASMO, kind: 'data', attempts: 0, notBefore: undefined, started: true },
      ] as const)
        await t.rejects(catalog.write(at.dataset, lease, [change], signal), refused, change.set);
      await t.rejects(catalog.register(at, record.metadata, [], lease, signal), refused);
      await t.rejects(catalog.remove(at.dataset, lease, signal), refused);
      t.strictSame([await found(), await catalog.attempts(at.dataset, signal)], [record, []]);
    });
  fact('refuses every write once another holder took the lease, and changes nothing', async ({ grant, lease }) => {
    await grant(lease.name);
    return lease;
  });
  fact('a lease that was released writes no more', async ({ release, lease }) => {
    await release(lease);
    return lease;
  });
  fact('the lease of one dataset does not open another', ({ grant }) => grant(newAddress().dataset));

  t.test('writing to a dataset that is not there names it', async (t) => {
    const { catalog, grant } = await setup(t);
    const { dataset } = newAddress();
    const lease = await grant(dataset);
    for (const change of [
      { set: 'state', state: 'deleted' },
      { set: 'installFiles', files: [{ name: 'a', size: 1 }] },
      { set: 'attempt', target: PLASMO, kind: 'data', attempts: 0, notBefore: undefined, started: false },
    ] as const)
      await t.rejects(
        catalog.write(dataset, lease, [change], signal),
        { kind: 'defect', message: `dataset ${dataset} is not in the catalog` },
        change.set,
      );
  });

  t.test('keeps one attempt per target and kind until it is over', async (t) => {
    const { catalog, at, record, write } = await open(t);
    t.strictSame(await catalog.findWithAttempts(at.dataset, signal), { ...record, attempts: [] });
    const notBefore = new Date('2026-05-06T07:08:09.010Z');
    const data = { target: PLASMO, kind: 'data', attempts: 0, notBefore: undefined, started: false } as const;
    const meta = { target: PLASMO, kind: 'meta', attempts: 1, notBefore, started: true } as const;
    const toxo = { target: TOXO, kind: 'data', attempts: 0, notBefore: undefined, started: true } as const;
    for (const attempt of [toxo, meta, data]) await write({ set: 'attempt', ...attempt });
    t.strictSame(await catalog.attempts(at.dataset, signal), [data, meta, toxo]);
    t.strictSame(await catalog.findWithAttempts(at.dataset, signal), { ...record, attempts: [data, meta, toxo] });

    const again = { ...data, attempts: 1, notBefore, started: true };
    await write({ set: 'attempt', ...again });
    await write({ set: 'attemptOver', target: PLASMO, kind: 'meta' });
    await write({ set: 'attemptOver', target: TOXO, kind: 'meta' });
    t.strictSame(await catalog.attempts(at.dataset, signal), [again, toxo]);
  });

  t.test('an attempt and its mirror are one write, in which the last of two counts', async (t) => {
    const { catalog, at, lease, record, write, found } = await open(t);
    const attempt = { target: PLASMO, kind: 'data', attempts: 2, notBefore: undefined, started: true } as const;
    const install = { target: PLASMO, kind: 'data', messages: [] } as const;
    const both = [
      { set: 'attemptOver', target: PLASMO, kind: 'data' },
      { set: 'attempt', ...attempt },
      { set: 'install', ...install, status: 'running' },
    ] as const;
    await catalog.write(at.dataset, lease, both, signal);
    t.strictSame(await catalog.attempts(at.dataset, signal), [attempt]);
    t.strictSame(await found(), { ...record, installs: [{ ...install, status: 'running' }] });
    await write(
      { set: 'install', ...install, status: 'complete' },
      { set: 'attemptOver', target: PLASMO, kind: 'data' },
    );
    t.strictSame(await catalog.attempts(at.dataset, signal), []);
    t.strictSame(await found(), { ...record, installs: [{ ...install, status: 'complete' }] });
  });

  t.test('an aborted signal writes nothing', async (t) => {
    const { catalog, at, lease, record, found } = await open(t);
    const stopped = AbortSignal.abort();
    await t.rejects(catalog.write(at.dataset, lease, [{ set: 'state', state: 'deleted' }], stopped), {
      name: 'AbortError',
    });
    await t.rejects(catalog.remove(at.dataset, lease, stopped), { name: 'AbortError' });
    t.strictSame(await found(), record);
  });
}
