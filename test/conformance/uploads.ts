// What every Uploads does.

import type { Test } from 'tap';
import { revisionOf, type UserId } from '../../engine/model/ids.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { Catalog, DatasetRecord } from '../../engine/ports/catalog.ts';
import type { JobRequest, Lease } from '../../engine/ports/jobs.ts';
import type { AcceptedUpload, UploadSource, Uploads } from '../../engine/ports/uploads.ts';
import { metadataOf, newAddress, newUser } from '../support/dataset-samples.ts';

export interface UploadsSetup {
  readonly uploads: Uploads;
  /** On the same rows. */
  readonly catalog: Catalog;
  /** Jobs that accept committed, in order. */
  readonly jobs: () => Promise<readonly JobRequest[]>;
  readonly grant: (name: string) => Promise<Lease>;
  /** The process that received is dead from now on. */
  readonly die: () => Promise<void>;
}

const LIMIT = 1_000;

const ZIP = { etag: 'e1', sha256: 'ab'.repeat(32) };
const STORED = { set: 'uploadStored' } as const;

export function uploadsConformance(t: Test, setup: (t: Test) => Promise<UploadsSetup>): void {
  const signal = new AbortController().signal;

  const open = async (t: Test) => {
    const { uploads, catalog, jobs, grant, die } = await setup(t);
    /** False when the quota would be exceeded. */
    const begin = async (at: DatasetAddress, bytes: number) => {
      const result = await uploads.begin(at, bytes, { bytes: LIMIT }, signal);
      if (result === 'too many jobs') throw new Error('nobody counted them');
      return result === 'begun';
    };
    const usage = (owner: UserId) => uploads.usage(owner, signal);
    const accept = (at: DatasetAddress, more: Partial<AcceptedUpload> = {}) =>
      uploads.accept(acceptedUpload(at, more), signal);
    const write = async (at: DatasetAddress, ...changes: Parameters<Catalog['write']>[2]) =>
      catalog.write(at.dataset, await grant(at.dataset), changes, signal);
    /** One that was begun and accepted. */
    const accepted = async (more: Partial<AcceptedUpload> = {}, at = newAddress()) => {
      await begin(at, 100);
      await accept(at, more);
      return at;
    };
    const jobsOf = async ({ dataset }: DatasetAddress) => (await jobs()).filter((job) => job.dataset === dataset);
    const isOrphan = async ({ dataset }: DatasetAddress) =>
      (await uploads.orphans(signal)).some((orphan) => orphan.dataset === dataset);
    return { uploads, catalog, jobs, jobsOf, isOrphan, grant, die, begin, usage, accept, accepted, write };
  };

  const fact = (what: string, check: (t: Test, world: Awaited<ReturnType<typeof open>>) => Promise<void>): void => {
    t.test(what, async (t) => check(t, await open(t)));
  };

  fact('a reservation counts from begin and until it is abandoned', async (t, { uploads, begin, usage }) => {
    const at = newAddress();
    t.equal(await usage(at.owner), 0);
    t.equal(await begin(at, 600), true);
    t.equal(await usage(at.owner), 600);
    await uploads.abandon(at.dataset, signal);
    await uploads.abandon(at.dataset, signal);
    t.equal(await usage(at.owner), 0);
  });

  fact('refuses what does not fit, exactly at the limit', async (t, { begin, usage }) => {
    const owner = newUser();
    t.equal(await begin(newAddress(owner), 600), true);
    t.equal(await begin(newAddress(owner), 401), false);
    t.equal(await begin(newAddress(owner), 400), true);
    t.equal(await begin(newAddress(owner), 1), false);
    t.equal(await begin(newAddress(owner), 0), true);
    t.equal(await begin(newAddress(), 1_000), true, 'another owner has a quota of their own');
    t.equal(await usage(owner), 1_000);
  });

  fact('uploads that begin at once cannot pass the limit together', async (t, { begin, usage }) => {
    const owner = newUser();
    const begun = await Promise.all(Array.from({ length: 8 }, () => begin(newAddress(owner), 300)));
    t.equal(begun.filter(Boolean).length, 3);
    t.equal(await usage(owner), 900);
  });

  fact('a reservation grows within the limit and never shrinks', async (t, { uploads, begin, usage }) => {
    const at = newAddress();
    const other = newAddress(at.owner);
    await begin(at, 100);
    await begin(other, 500);
    t.equal(await uploads.grow(at.dataset, 500, LIMIT, signal), true);
    t.equal(await uploads.grow(at.dataset, 501, LIMIT, signal), false);
    t.equal(await uploads.grow(at.dataset, 50, LIMIT, signal), true);
    t.equal(await usage(at.owner), 1_000);
  });

  fact('a reservation that was abandoned cannot grow', async (t, { uploads, begin }) => {
    const at = newAddress();
    await begin(at, 100);
    await uploads.abandon(at.dataset, signal);
    await t.rejects(uploads.grow(at.dataset, 200, LIMIT, signal), { kind: 'transient', message: /abandoned/ });
  });

  fact('a dataset id can be received once only', async (t, { begin, accept }) => {
    const at = newAddress();
    const known = { kind: 'rejected', message: `dataset ${at.dataset} exists or is being uploaded already` };
    await begin(at, 100);
    await t.rejects(begin(at, 100), known);
    await accept(at);
    await t.rejects(begin(at, 100), known);
  });

  fact('one revision of a dataset is received at a time', async (t, { uploads, begin, accept, accepted }) => {
    const original = await accepted();
    const [first, second] = [1, 2].map((n) => ({ ...original, dataset: revisionOf(original.dataset, n) })) as [
      DatasetAddress,
      DatasetAddress,
    ];
    await begin(first, 10);
    await t.rejects(begin(second, 10), { kind: 'rejected', message: /is being uploaded already/ });
    const { dataset } = newAddress();
    t.equal(await begin({ ...original, dataset }, 10), true, 'another dataset of the same owner');
    await uploads.abandon(first.dataset, signal);
    t.equal(await begin(second, 10), true);
    await accept(second);
    t.equal(await begin({ ...original, dataset: revisionOf(original.dataset, 3) }, 10), true);
  });

  t.test('acceptance makes the dataset, its job and its source in one step', async (t) => {
    const { uploads, catalog, jobsOf, begin, usage, accept } = await open(t);
    const at = newAddress();
    const metaVersion = { modified: new Date('2026-03-04T05:06:07.089Z'), etag: 'abc' };
    const source: UploadSource = {
      kind: 'files',
      files: [
        { name: 'a.txt', size: 70 },
        { name: 'b.txt', size: 5 },
      ],
    };
    await begin(at, 600);
    t.equal(await uploads.source(at.dataset, signal), undefined);
    t.equal(await catalog.find(at.dataset, signal), undefined);
    await accept(at, { metaVersion, source, eventId: 4711 });
    const record: DatasetRecord = {
      ...at,
      state: 'live',
      metadata: metadataOf(at.owner),
      upload: { status: 'running', message: undefined },
      import: undefined,
      installs: [],
      sync: { meta: metaVersion },
    };
    t.strictSame(await catalog.find(at.dataset, signal), record);
    t.strictSame(await jobsOf(at), [{ lane: 'upload', ...at, eventId: 4711, source: 'api' }]);
    t.strictSame(await uploads.source(at.dataset, signal), source);
    t.equal(await usage(at.owner), 75, 'the reservation is settled to what was received');
    await uploads.abandon(at.dataset, signal);
    t.strictSame(await catalog.find(at.dataset, signal), record, 'too late to abandon');
  });

  t.test('a packed upload is stored at once: its import is next, and its files are those of the archive', async (t) => {
    const { uploads, catalog, jobsOf, begin, usage, accept, grant } = await open(t);
    const at = newAddress();
    const files = [{ name: 'a.txt', size: 70 }];
    await begin(at, 600);
    await accept(at, { source: { kind: 'files', files }, packed: ZIP, eventId: 4713 });
    t.match(await catalog.find(at.dataset, signal), { upload: { status: 'success', message: undefined } });
    t.strictSame(await jobsOf(at), [{ lane: 'import', ...at, eventId: 4713, source: 'api' }]);
    t.equal(await uploads.source(at.dataset, signal), undefined);
    t.equal(await uploads.giveUp(at.dataset, signal), false);
    t.equal((await catalog.beginImport(at.dataset, await grant(at.dataset), signal))?.import?.status, 'queued');
    t.equal(await usage(at.owner), 0, 'there are no raw files that count');
  });

  fact('an upload that was swept cannot be accepted', async (t, { uploads, catalog, jobsOf, begin, accept }) => {
    const at = newAddress();
    await begin(at, 100);
    await uploads.abandon(at.dataset, signal);
    await t.rejects(accept(at), { kind: 'transient', message: /abandoned/ });
    t.equal(await catalog.find(at.dataset, signal), undefined);
    t.same(await jobsOf(at), []);
  });

  t.test('the event of a metadata object that is put before acceptance registers nothing', async (t) => {
    const { catalog, grant, begin, accept } = await open(t);
    const at = newAddress();
    await begin(at, 100);
    await catalog.register(at, metadataOf(at.owner), [], await grant(at.dataset), signal);
    t.equal(await catalog.find(at.dataset, signal), undefined);
    await accept(at);
    t.equal((await catalog.find(at.dataset, signal))?.upload.status, 'running');
  });

  t.test('a URL keeps its reservation until it is fetched, and may grow meanwhile', async (t) => {
    const { uploads, catalog, grant, usage, accepted } = await open(t);
    const source: UploadSource = { kind: 'url', url: 'https://example.org/a.txt' };
    const at = await accepted({ source });
    t.strictSame(await uploads.source(at.dataset, signal), source);
    t.equal(await usage(at.owner), 100);
    t.equal(await uploads.grow(at.dataset, 1_001, LIMIT, signal), false);
    t.equal(await uploads.grow(at.dataset, 700, LIMIT, signal), true);
    t.equal(await usage(at.owner), 700);
    await catalog.write(at.dataset, await grant(at.dataset), [STORED], signal);
    t.equal(await usage(at.owner), 0);
  });

  fact(
    'an upload is found with its dataset until it is stored',
    async (t, { uploads, catalog, grant, begin, accept }) => {
      const at = newAddress();
      const find = () => uploads.find(at.dataset, signal);
      await begin(at, 100);
      t.equal(await find(), undefined, 'not accepted yet');
      const source: UploadSource = { kind: 'files', files: [{ name: 'a', size: 10 }] };
      await accept(at, { source });
      const record = await catalog.find(at.dataset, signal);
      t.ok(record);
      t.strictSame(await find(), { record, source });
      await catalog.write(at.dataset, await grant(at.dataset), [STORED], signal);
      t.strictSame(await find(), { record, source: undefined });
    },
  );

  fact('an upload does not begin while too many jobs of its owner wait', async (t, { uploads, accepted, usage }) => {
    const [owner, other] = [newUser(), newUser()];
    const begin = (of: UserId, jobs: number, bytes = 1) =>
      uploads.begin(newAddress(of), bytes, { bytes: LIMIT, jobs }, signal);
    for (let n = 0; n < 3; n++) await accepted({}, newAddress(owner));
    const used = await usage(owner);
    t.equal(await begin(owner, 3), 'too many jobs');
    t.equal(await begin(owner, 2, LIMIT + 1), 'too many jobs', 'also when the quota has no room');
    t.equal(await usage(owner), used, 'nothing is reserved');
    t.equal(await begin(other, 1), 'begun');
    t.equal(await begin(owner, 4, LIMIT + 1), 'over quota');
    t.equal(await begin(owner, 4), 'begun');
    t.equal(await usage(owner), used + 1);
  });

  fact('a URL may become as large as the quota leaves room for', async (t, { uploads, begin, accept }) => {
    const owner = newUser();
    const [at, other] = [newAddress(owner), newAddress(owner)];
    const room = () => uploads.room(at.dataset, LIMIT, signal);
    t.equal(await room(), 0, 'unknown');
    await begin(at, 100);
    t.equal(await room(), 0, 'not accepted yet');
    await accept(at, { source: { kind: 'url', url: 'https://example.org/a.txt' } });
    t.equal(await room(), 1_000);
    await begin(other, 300);
    t.equal(await room(), 700);
    t.equal(await uploads.grow(at.dataset, 650, LIMIT, signal), true);
    t.equal(await room(), 700, 'what it holds itself is its own');
    t.equal(await uploads.room(at.dataset, 200, signal), 0);
  });

  fact('a URL that was fetched is files, under the lease', async (t, { uploads, catalog, grant, usage, accepted }) => {
    const leftOut = ['.DS_Store'];
    const url: UploadSource = { kind: 'url', url: 'https://example.org/a.txt', leftOut };
    const files = [{ name: 'génes.txt', size: 70 }];
    const at = await accepted({ source: url });
    const [stale, lease] = [await grant(at.dataset), await grant(at.dataset)];
    await t.rejects(uploads.fetched(at.dataset, stale, files, signal), { kind: 'aborted', message: /lease lost/ });
    t.strictSame(await uploads.source(at.dataset, signal), url);
    await uploads.fetched(at.dataset, lease, files, signal);
    await uploads.fetched(at.dataset, lease, files, signal);
    t.same(
      await uploads.source(at.dataset, signal),
      { kind: 'files', files, leftOut },
      'what was left out stays known',
    );
    t.equal(await usage(at.owner), 100, 'the reservation stands until it is stored');
    await catalog.write(at.dataset, lease, [STORED], signal);
    await uploads.fetched(at.dataset, lease, files, signal);
    t.equal(await uploads.source(at.dataset, signal), undefined, 'a stored upload stays stored');
    t.equal(await usage(at.owner), 0);
  });

  t.test('a stored upload has no source any more, and its raw files do not count', async (t) => {
    const { uploads, catalog, grant, usage, accepted } = await open(t);
    const at = await accepted();
    const lease = await grant(at.dataset);
    for (let n = 0; n < 2; n++) {
      await catalog.write(at.dataset, lease, [{ set: 'upload', status: 'success' }, STORED], signal);
      t.equal(await uploads.source(at.dataset, signal), undefined);
      t.equal(await usage(at.owner), 0);
      t.equal((await catalog.find(at.dataset, signal))?.upload.status, 'success');
    }
  });

  fact('an upload becomes stored only under the lease', async (t, { uploads, catalog, grant, usage, accepted }) => {
    const at = await accepted();
    const lease = await grant(at.dataset);
    await grant(at.dataset);
    await t.rejects(catalog.write(at.dataset, lease, [STORED], signal), { kind: 'aborted', message: /lease lost/ });
    t.equal(await usage(at.owner), 10);
    t.not(await uploads.source(at.dataset, signal), undefined);
  });

  t.test('a dataset counts in every state, until it is removed', async (t) => {
    const { usage, accepted, write } = await open(t);
    const old = await accepted();
    await accepted({}, newAddress(old.owner));
    for (const [state, bytes] of [
      ['superseded', 20],
      ['deleting', 20],
      ['deleted', 20],
      ['pruning', 20],
      ['live', 20],
    ] as const) {
      await write(old, { set: 'state', state });
      t.equal(await usage(old.owner), bytes, state);
    }
  });

  t.test(
    'a dataset known from the object store alone counts the files of its manifest until it is counted',
    async (t) => {
      const { catalog, grant, usage } = await open(t);
      const at = newAddress();
      const files = [
        { name: 'a', size: 30 },
        { name: 'b', size: 3 },
      ];
      const lease = await grant(at.dataset);
      await catalog.register(at, metadataOf(at.owner), [{ set: 'uploadFiles', files }], lease, signal);
      t.equal(await usage(at.owner), 33);
    },
  );

  t.test('a dataset that is registered with what the store keeps of it counts exactly that', async (t) => {
    const { catalog, grant, usage } = await open(t);
    const at = newAddress();
    const lease = await grant(at.dataset);
    const objects = [
      { name: 'vdi-meta.json', size: 300 },
      { name: 'documents/a', size: 7 },
    ];
    const files = [{ name: 'raw.txt', size: 5 }];
    const changes = [{ set: 'uploadFiles', files } as const, { set: 'kept', objects } as const];
    await catalog.register(at, metadataOf(at.owner), changes, lease, signal);
    t.equal(await usage(at.owner), 307);
    await catalog.remove(at.dataset, lease, signal);
    t.equal(await usage(at.owner), 0);
  });

  const whole = async (): Promise<boolean> => true;

  t.test('a forgotten upload whose files are gone is not taken up again, and nothing is left of the try', async (t) => {
    const { uploads, catalog, jobsOf, begin } = await open(t);
    const at = newAddress();
    t.equal(await uploads.resume(acceptedUpload(at, {}), async () => false, signal), false);
    t.strictSame([await catalog.find(at.dataset, signal), await jobsOf(at)], [undefined, []]);
    t.equal(await begin(at, 10), true);
  });

  t.test('an upload that is abandoned cannot be accepted any more, and waits for the sweep', async (t) => {
    const { uploads, isOrphan, begin, accept, usage } = await open(t);
    const at = newAddress();
    await begin(at, 100);
    for (const _ of ['once', 'again']) t.equal(await uploads.giveUp(at.dataset, signal), true);
    await t.rejects(accept(at), { kind: 'transient', message: /abandoned/ });
    t.equal(await isOrphan(at), true);
    t.equal(await usage(at.owner), 100, 'what is there still counts');
    await uploads.abandon(at.dataset, signal);
    t.equal(await isOrphan(at), false);
    t.equal(await uploads.giveUp(at.dataset, signal), true, 'nothing was accepted');
  });

  t.test('an upload whose giving up has failed is abandoned by the next look for orphans', async (t) => {
    const { uploads, begin, accept } = await open(t);
    const [receiving, accepted] = [newAddress(), newAddress()];
    for (const at of [receiving, accepted]) {
      await begin(at, 100);
      await t.rejects(uploads.giveUp(at.dataset, AbortSignal.abort()));
    }
    await accept(accepted);
    const orphans = (await uploads.orphans(signal)).map(({ dataset }) => dataset);
    t.same(
      [receiving, accepted].map(({ dataset }) => orphans.includes(dataset)),
      [true, false],
    );
    await t.rejects(accept(receiving), { kind: 'transient', message: /abandoned/ });
  });

  fact('an upload that was accepted cannot be abandoned', async (t, { uploads, isOrphan, accepted, catalog }) => {
    const at = await accepted();
    t.equal(await uploads.giveUp(at.dataset, signal), false);
    t.match(await catalog.find(at.dataset, signal), { state: 'live', upload: { status: 'running' } });
    t.equal(await isOrphan(at), false);
  });

  t.test('a forgotten upload that is taken up again is as one that was just accepted', async (t) => {
    const { uploads, catalog, jobsOf, isOrphan, usage, accepted, die } = await open(t);
    const at = newAddress();
    const properties = [{ name: 'p.tsv', size: 3 }];
    t.equal(await uploads.resume(acceptedUpload(at, { properties, eventId: 4712 }), whole, signal), true);
    const other = await catalog.find((await accepted()).dataset, signal);
    t.strictSame(await catalog.find(at.dataset, signal), { ...other, ...at, metadata: metadataOf(at.owner) });
    t.strictSame(await jobsOf(at), [{ lane: 'upload', ...at, eventId: 4712, source: 'api' }]);
    t.strictSame(await uploads.source(at.dataset, signal), acceptedUpload(at, {}).source);
    t.equal(await usage(at.owner), 10);
    await die();
    t.equal(await isOrphan(at), false, 'its objects are not swept');
  });

  t.test('what is known or is being received is not taken up again', async (t) => {
    const { uploads, catalog, jobs, grant, begin, usage, accepted } = await open(t);
    const [receiving, registered] = [newAddress(), newAddress()];
    await begin(receiving, 100);
    await catalog.register(registered, metadataOf(registered.owner), [], await grant(registered.dataset), signal);
    for (const at of [receiving, await accepted(), registered]) {
      const record = await catalog.find(at.dataset, signal);
      const before = [await usage(at.owner), await jobs()];
      t.equal(await uploads.resume(acceptedUpload(at, {}), whole, signal), false);
      t.strictSame(await catalog.find(at.dataset, signal), record);
      t.strictSame([await usage(at.owner), await jobs()], before);
    }
  });

  t.test('what a dead process was receiving is an orphan; what it had accepted is not', async (t) => {
    const { uploads, die, begin, accepted } = await open(t);
    const receiving = newAddress();
    await begin(receiving, 1);
    await accepted({}, newAddress(receiving.owner));
    const orphans = async () => (await uploads.orphans(signal)).filter((at) => at.owner === receiving.owner);
    t.same(await orphans(), []);
    await die();
    t.strictSame(await orphans(), [receiving]);
    t.strictSame(await orphans(), [receiving], 'until it is abandoned');
    await uploads.abandon(receiving.dataset, signal);
    t.same(await orphans(), []);
  });

  t.test('what was listed as an orphan cannot be accepted by a process that lives after all', async (t) => {
    const { catalog, isOrphan, die, begin, accept } = await open(t);
    const at = newAddress();
    await begin(at, 1);
    await die();
    t.equal(await isOrphan(at), true);
    await t.rejects(accept(at), { kind: 'transient', message: /abandoned/ });
    t.equal(await catalog.find(at.dataset, signal), undefined);
  });
}

/** 10 bytes in one file. */
export function acceptedUpload(at: DatasetAddress, more: Partial<AcceptedUpload>): AcceptedUpload {
  return {
    ...at,
    metadata: metadataOf(at.owner),
    metaVersion: { modified: new Date('2026-01-01T00:00:00.000Z'), etag: 'e1' },
    source: { kind: 'files', files: [{ name: 'genes.txt', size: 10 }] },
    documents: [],
    properties: [],
    eventId: 1,
    ...more,
  };
}
