// What every DatasetQueries reads from what a Catalog and an Uploads wrote.

import type { Test } from 'tap';
import type { ArchiveObject } from '../../engine/model/digest.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { Catalog, CatalogChange } from '../../engine/ports/catalog.ts';
import {
  type DatasetQueries,
  type FileDigests,
  type ListFilter,
  type OfferFilter,
  SHARE_STATUSES,
} from '../../engine/ports/dataset-queries.ts';
import type { Lease } from '../../engine/ports/jobs.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import { fullMetadataOf, metadataOf, newAddress, newUser, PLASMO, TOXO } from '../support/dataset-samples.ts';

export interface DatasetQueriesSetup {
  readonly queries: DatasetQueries & FileDigests;
  readonly catalog: Catalog;
  readonly uploads: Uploads;
  readonly grant: (name: string) => Promise<Lease>;
  /** Puts the share's two words as the sharing lane would; undefined = not said. */
  readonly share: (
    dataset: DatasetId,
    recipient: UserId,
    offer: 'grant' | 'revoke' | undefined,
    receipt: 'accept' | 'reject' | undefined,
  ) => Promise<void>;
}

export function datasetQueriesConformance(t: Test, setup: (t: Test) => Promise<DatasetQueriesSetup>): void {
  const signal = new AbortController().signal;

  const open = async (t: Test) => {
    const { queries, catalog, uploads, grant, share } = await setup(t);
    const add = async (at: DatasetAddress, more: Partial<DatasetMetadata> = {}, ...changes: CatalogChange[]) => {
      const lease = await grant(at.dataset);
      await catalog.register(at, metadataOf(at.owner, more), [], lease, signal);
      await catalog.write(at.dataset, lease, changes, signal);
      return at.dataset;
    };
    const list = async (filter: ListFilter) => {
      const ids: DatasetId[] = [];
      for await (const item of queries.list(filter, signal)) ids.push(item.dataset);
      return ids;
    };
    const related = (dataset: DatasetId, metadata: DatasetMetadata, viewer: UserId) =>
      queries.related(dataset, metadata, viewer, signal);
    return { queries, catalog, uploads, grant, share, add, list, related };
  };
  const day = (n: number): string => `2026-01-${String(n).padStart(2, '0')}T00:00:00.000Z`;

  const fact = (what: string, check: (t: Test, world: Awaited<ReturnType<typeof open>>) => Promise<void>): void => {
    t.test(what, async (t) => check(t, await open(t)));
  };

  fact('lists a whole dataset with its children', async (t, { queries, catalog, add, share }) => {
    const at = newAddress();
    const metadata = fullMetadataOf(at.owner, at.dataset);
    const version = { modified: new Date('2026-03-04T05:06:07.089Z'), etag: 'abc' };
    await add(
      at,
      metadata,
      { set: 'import', status: 'complete', messages: ['a note'] },
      {
        set: 'uploadFiles',
        files: [
          { name: 'b', size: 2 ** 40 },
          { name: 'a', size: 1 },
        ],
      },
      { set: 'install', target: PLASMO, kind: 'meta', status: 'complete', messages: [] },
      { set: 'install', target: PLASMO, kind: 'data', status: 'running', messages: ['try 1', 'try 2'] },
      { set: 'sync', part: 'data', version },
    );
    const [ann, bob] = [newUser(), newUser()].sort() as [UserId, UserId];
    await share(at.dataset, ann, 'grant', undefined);
    await share(at.dataset, bob, 'revoke', 'accept');
    const items = [];
    for await (const item of queries.list({ viewer: at.owner, ownership: 'any' }, signal)) items.push(item);
    const record = await catalog.find(at.dataset, signal);
    t.strictSame(record?.metadata, metadata);
    const { sync: _sync, ...shown } = { ...record };
    const [{ bytes } = { bytes: 0 }] = items;
    t.ok(bytes > JSON.stringify(metadata.type).length, 'about what it takes');
    t.strictSame(items, [
      {
        ...shown,
        bytes,
        fileCount: 2,
        fileBytes: 2 ** 40 + 1,
        shares: [
          { recipient: ann, granted: true, accepted: false },
          { recipient: bob, granted: false, accepted: true },
        ],
      },
    ]);
  });

  fact('the newest comes first, then the lower id', async (t, { add, list }) => {
    const viewer = newUser();
    const old = await add(newAddress(viewer), { created: day(1) });
    const newest = await add(newAddress(viewer), { created: day(3) });
    const twins = [
      await add(newAddress(viewer), { created: day(2) }),
      await add(newAddress(viewer), { created: day(2) }),
    ].sort();
    t.same(await list({ viewer, ownership: 'owned' }), [newest, ...twins, old]);
    t.same(await list({ viewer, ownership: 'owned', limit: 2 }), [newest, twins[0]]);
    t.same(await list({ viewer, ownership: 'owned', limit: 2, offset: 2 }), [twins[1], old]);
    t.same(await list({ viewer, ownership: 'owned', offset: 3 }), [old]);
    t.same(await list({ viewer, ownership: 'any', limit: 0 }), []);
  });

  fact('large metadata between small ones are listed once each, in their order', async (t, { add, list }) => {
    const viewer = newUser();
    const all: string[] = [];
    for (let i = 1; i <= 60; i++)
      all.unshift(
        await add(newAddress(viewer), {
          created: day(1).replace('00:00:00', `00:00:${String(i - 1).padStart(2, '0')}`),
          summary: 'a'.repeat(i > 10 && i % 4 === 0 ? 200_000 : 10),
        }),
      );
    t.same(await list({ viewer, ownership: 'owned' }), all);
    t.same(await list({ viewer, ownership: 'owned', limit: 33, offset: 20 }), all.slice(20, 53));
  });

  fact('lists live datasets only', async (t, { add, list }) => {
    const viewer = newUser();
    const live = await add(newAddress(viewer));
    for (const state of ['superseded', 'deleting', 'deleted', 'pruning'] as const)
      await add(newAddress(viewer), {}, { set: 'state', state });
    t.same(await list({ viewer, ownership: 'any' }), [live]);
  });

  t.test('a dataset is shared once it is offered and accepted, not before and not after', async (t) => {
    const { add, list, share } = await open(t);
    const viewer = newUser();
    const own = await add(newAddress(viewer), { created: day(2) });
    const accepted = await add(newAddress(), { created: day(1) });
    await share(accepted, viewer, 'grant', 'accept');
    for (const [offer, receipt] of [
      ['grant', undefined],
      ['grant', 'reject'],
      ['revoke', 'accept'],
      [undefined, 'accept'],
    ] as const)
      await share(await add(newAddress()), viewer, offer, receipt);
    await share(await add(newAddress()), newUser(), 'grant', 'accept');
    await share(await add(newAddress(), {}, { set: 'state', state: 'deleted' }), viewer, 'grant', 'accept');
    t.same(await list({ viewer, ownership: 'owned' }), [own]);
    t.same(await list({ viewer, ownership: 'shared' }), [accepted]);
    t.same(await list({ viewer, ownership: 'any' }), [own, accepted]);
  });

  fact('a target filters owned and shared datasets', async (t, { catalog, grant, add, list, share }) => {
    const viewer = newUser();
    const own = newAddress(viewer);
    await add(own, { created: day(3), installTargets: [PLASMO, TOXO] });
    await add(newAddress(viewer), { created: day(2), installTargets: [PLASMO] });
    const theirs = await add(newAddress(), { created: day(1), installTargets: [TOXO] });
    await share(theirs, viewer, 'grant', 'accept');
    t.same(await list({ viewer, ownership: 'any', target: TOXO }), [own.dataset, theirs]);
    t.same(await list({ viewer, ownership: 'shared', target: PLASMO }), []);
    await catalog.write(
      own.dataset,
      await grant(own.dataset),
      [{ set: 'metadata', metadata: metadataOf(viewer, { installTargets: [PLASMO] }) }],
      signal,
    );
    t.same(await list({ viewer, ownership: 'any', target: TOXO }), [theirs], 'after an edit of the targets');
  });

  t.test('views a dataset in any state, and nothing that is only being received', async (t) => {
    const { queries, catalog, uploads, add } = await open(t);
    const gone = newAddress();
    await add(gone, {}, { set: 'state', state: 'pruning' });
    t.strictSame(await queries.view(gone.dataset, signal), {
      ...(await catalog.find(gone.dataset, signal)),
      shares: [],
      newest: undefined,
    });
    const receiving = newAddress();
    await uploads.begin(receiving, 1, { bytes: 10 }, signal);
    t.equal(await queries.view(receiving.dataset, signal), undefined);
  });

  t.test('the family has the highest number of all and the newest that is not deleted', async (t) => {
    const { queries, catalog, grant, add } = await open(t);
    const root = newAddress();
    const revision = (n: number): DatasetAddress => ({ ...root, dataset: `${root.dataset}_${n}` as DatasetId });
    const more = { revisionHistory: { originalId: root.dataset, revisions: [] } };
    const setState = async (at: DatasetAddress, state: 'live' | 'superseded' | 'deleting' | 'deleted' | 'pruning') =>
      catalog.write(at.dataset, await grant(at.dataset), [{ set: 'state', state }], signal);
    const family = async (at: DatasetAddress) => {
      const found = await queries.family(at.dataset, signal);
      return found && [found.highestNumber, found.newest?.dataset];
    };
    t.equal(await family(root), undefined);
    await add(root);
    t.strictSame(await family(root), [0, root.dataset]);
    for (const n of [2, 10]) await add(revision(n), more, { set: 'import', status: 'failed', messages: ['no'] });
    // Another owner's dataset that names the same root is no relative.
    await add({ ...newAddress(), dataset: `${root.dataset}_11` as DatasetId }, more);
    for (const at of [root, revision(2), revision(10)])
      t.strictSame(await family(at), [10, revision(10).dataset], at.dataset);
    t.strictSame(
      (await queries.family(root.dataset, signal))?.newest,
      await catalog.find(revision(10).dataset, signal),
      'whole',
    );
    await setState(revision(10), 'superseded');
    t.strictSame(await family(root), [10, revision(10).dataset]);
    for (const state of ['deleting', 'deleted', 'pruning'] as const) {
      await setState(revision(10), state);
      t.strictSame(await family(root), [10, revision(2).dataset], state);
    }
    await setState(root, 'deleted');
    await setState(revision(2), 'deleted');
    t.strictSame(await family(revision(2)), [10, undefined]);
  });

  fact('the newest is the highest live revision of the root, when it is another', async (t, { queries, add }) => {
    const root = newAddress();
    const revision = (n: number) => ({ ...root, dataset: `${root.dataset}_${n}` as DatasetId });
    await add(root, {}, { set: 'state', state: 'superseded' });
    await add(revision(2));
    await add(revision(10));
    await add(revision(11), {}, { set: 'state', state: 'deleted' });
    // Another owner's id that only looks like a revision.
    await add({ ...revision(12), owner: newUser() });
    const newest = async (dataset: DatasetId) => (await queries.view(dataset, signal))?.newest;
    t.equal(await newest(root.dataset), revision(10).dataset);
    t.equal(await newest(revision(2).dataset), revision(10).dataset);
    t.equal(await newest(revision(10).dataset), undefined);
    t.equal(await newest(revision(11).dataset), revision(10).dataset);
  });

  fact('revisions of compatible systems are linked by their history', async (t, { queries, add }) => {
    const [first, second] = [newAddress(), newAddress()];
    const owner = first.owner;
    const note = { timestamp: day(1), revisionNote: 'a longer note' };
    const revisionHistory = {
      originalId: first.dataset,
      revisions: [
        { action: 'create', revisionId: first.dataset, ...note },
        { action: 'revise', revisionId: second.dataset, ...note },
      ],
    } as const;
    await add(first, {}, { set: 'state', state: 'superseded' });
    await add({ owner, dataset: second.dataset }, { revisionHistory });
    t.equal((await queries.view(first.dataset, signal))?.newest, second.dataset);
  });

  fact('digests are of one version of an object', async (t, { queries, catalog, grant, add }) => {
    const at = newAddress();
    const [one, two] = ['1'.repeat(64), '2'.repeat(64)] as const;
    await add(at);
    const lease = await grant(at.dataset);
    const write = (...changes: CatalogChange[]) => catalog.write(at.dataset, lease, changes, signal);
    const document = () => queries.digest(at.dataset, { folder: 'documents', name: 'd' }, signal);
    const archive = (of: ArchiveObject) => queries.digest(at.dataset, { archive: of }, signal);
    await write(
      { set: 'uploadFiles', files: [{ name: 'a', size: 1, sha256: one }] },
      { set: 'archive', object: 'import-ready.zip', digest: { etag: 'z1', sha256: two } },
      { set: 'documentFiles', files: [{ name: 'd', size: 1, sha256: one, etag: 'd1' }] },
    );
    const files = await queries.files(at.dataset, signal);
    t.strictSame(files.upload, [{ name: 'a', size: 1, sha256: one }]);
    t.strictSame(files.archives, { 'import-ready.zip': { etag: 'z1', sha256: two } });
    t.strictSame(await archive('import-ready.zip'), { etag: 'z1', sha256: two });
    t.equal(await archive('install-ready.zip'), undefined);
    t.strictSame(await document(), { etag: 'd1', sha256: one });
    t.equal(await queries.digest(at.dataset, { folder: 'properties', name: 'd' }, signal), undefined);

    // As whoever lists the folder: the digest stays as long as the object does.
    await write({ set: 'documentFiles', files: [{ name: 'd', size: 1, etag: 'd1' }] });
    t.strictSame(await document(), { etag: 'd1', sha256: one });
    await write({ set: 'documentFiles', files: [{ name: 'd', size: 1, etag: 'd2' }] });
    t.equal(await document(), undefined);
    await write({ set: 'uploadFiles', files: [{ name: 'a', size: 1 }] });
    t.strictSame((await queries.files(at.dataset, signal)).upload, [{ name: 'a', size: 1 }]);

    await write({ set: 'archive', object: 'install-ready.zip', digest: { etag: 'i1', sha256: one } });
    t.strictSame(await archive('install-ready.zip'), { etag: 'i1', sha256: one });
    await write({ set: 'trimmed' });
    t.equal(await archive('install-ready.zip'), undefined);
    t.strictSame(await archive('import-ready.zip'), { etag: 'z1', sha256: two });
  });

  t.test('files are listed by folder and name; installed ones once the import is complete', async (t) => {
    const { queries, catalog, uploads, grant } = await open(t);
    const at = newAddress();
    const empty = { upload: [], install: [], documents: [], properties: [] };
    t.strictSame(await queries.files(at.dataset, signal), empty);
    await uploads.begin(at, 1, { bytes: 10 }, signal);
    await uploads.accept(
      {
        ...at,
        metadata: metadataOf(at.owner),
        metaVersion: { modified: new Date(1_000), etag: 'e' },
        source: { kind: 'files', files: [{ name: 'raw.zip', size: 1 }] },
        documents: [{ name: 'readme.pdf', size: 7 }],
        properties: [{ name: 'map.tsv', size: 8 }],
        eventId: 1,
      },
      signal,
    );
    const lease = await grant(at.dataset);
    const write = (...changes: CatalogChange[]) => catalog.write(at.dataset, lease, changes, signal);
    await write(
      { set: 'upload', status: 'success' },
      {
        set: 'uploadFiles',
        files: [
          { name: 'b/c', size: 2 },
          { name: 'B', size: 3 },
          { name: 'old', size: 1 },
        ],
      },
      { set: 'installFiles', files: [{ name: 'i', size: 4 }] },
    );
    await write({
      set: 'uploadFiles',
      files: [
        { name: 'b/c', size: 9 },
        { name: 'B', size: 3 },
      ],
    });
    const files = {
      upload: [
        { name: 'B', size: 3 },
        { name: 'b/c', size: 9 },
      ],
      install: [],
      documents: [{ name: 'readme.pdf', size: 7 }],
      properties: [{ name: 'map.tsv', size: 8 }],
    };
    t.strictSame(await queries.files(at.dataset, signal), files);
    await write({ set: 'import', status: 'complete', messages: [] });
    t.strictSame(await queries.files(at.dataset, signal), { ...files, install: [{ name: 'i', size: 4 }] });
  });

  t.test('related: same project or program of the owner, newest first, never itself or a deleted one', async (t) => {
    const { add, related } = await open(t);
    const at = newAddress();
    const mine = { projectName: 'P', programName: 'Q' };
    const metadata = metadataOf(at.owner, mine);
    await add(at, mine);
    const project = await add(newAddress(at.owner), { projectName: 'P', created: day(2), name: 'Same project' });
    const both = await add(newAddress(at.owner), { ...mine, created: day(3), name: 'Both', summary: 'A summary' });
    await add(newAddress(at.owner), { projectName: 'Q', programName: 'P' });
    await add(newAddress(at.owner), mine, { set: 'state', state: 'deleted' });
    await add(newAddress(), { ...mine, visibility: 'public' });
    const type = { name: 'genelist', version: '1.0' };
    const first = { type, dataset: both, name: 'Both', summary: 'A summary', created: day(3) };
    const second = { type, dataset: project, name: 'Same project', summary: 'Some genes', created: day(2) };
    t.strictSame(await related(at.dataset, metadata, at.owner), [
      { ...first, relation: { by: 'program-name', identifier: 'Q' } },
      { ...first, relation: { by: 'project-name', identifier: 'P' } },
      { ...second, relation: { by: 'project-name', identifier: 'P' } },
    ]);
  });

  t.test('related by publication: every publication counts, and only what the viewer may see', async (t) => {
    const { add, related, share } = await open(t);
    const viewer = newUser();
    const at = newAddress();
    const [pmid, doi] = [`p${at.dataset}`, `d${at.dataset}`];
    const publications = [
      { identifier: pmid, type: 'pmid', isPrimary: true },
      { identifier: doi, type: 'doi', isPrimary: false },
    ] as const;
    const metadata = metadataOf(at.owner, { publications });
    await add(at, { publications, visibility: 'public' });
    const second = { publications: [{ identifier: 'other', type: 'pmid', isPrimary: true }, publications[1]] } as const;
    const open_ = await add(newAddress(), { ...second, visibility: 'protected', created: day(5) });
    const shared = await add(newAddress(), { ...second, created: day(4) });
    const own = await add(newAddress(viewer), { ...second, created: day(3) });
    const hidden = await add(newAddress(), { ...second, created: day(2) });
    await add(newAddress(), {
      publications: [{ identifier: doi, type: 'pmid', isPrimary: true }],
      visibility: 'public',
    });
    await share(shared, viewer, 'grant', 'accept');
    await share(hidden, viewer, 'grant', undefined);
    const found = await related(at.dataset, metadata, viewer);
    t.same(
      found.map(({ dataset, relation }) => ({ dataset, relation })),
      [open_, shared, own].map((dataset) => ({
        dataset,
        relation: { by: 'publication', identifier: doi, type: 'doi' },
      })),
    );
  });

  fact('a stranger does not learn of private datasets of the same project', async (t, { add, related }) => {
    const at = newAddress();
    const metadata = metadataOf(at.owner, { projectName: 'P', visibility: 'public' });
    await add(at, metadata);
    await add(newAddress(at.owner), { projectName: 'P' });
    const visible = await add(newAddress(at.owner), { projectName: 'P', visibility: 'public' });
    const found = await related(at.dataset, metadata, newUser());
    t.same(
      found.map((relative) => relative.dataset),
      [visible],
    );
  });

  fact('the community is everything that is live and not private, newest first', async (t, { add, list }) => {
    const viewer = newUser();
    const old = await add(newAddress(), { visibility: 'public', created: day(1) });
    const young = await add(newAddress(viewer), { visibility: 'protected', created: day(2), installTargets: [TOXO] });
    const hidden = await add(newAddress(viewer), { visibility: 'private', created: day(3) });
    const gone = await add(newAddress(), { visibility: 'public' }, { set: 'state', state: 'deleting' });
    const mine = (ids: DatasetId[]) => ids.filter((id) => [old, young, hidden, gone].includes(id));
    t.strictSame(mine(await list({ viewer, ownership: 'community' })), [young, old]);
    t.strictSame(mine(await list({ viewer, ownership: 'community', target: TOXO })), [young]);
  });

  fact('offers that stand are listed to their recipient by what was answered', async (t, { queries, add, share }) => {
    const [recipient, other] = [newUser(), newUser()];
    const names = ['open', 'accepted', 'rejected', 'revoked', 'deleted', 'unsaid'] as const;
    const at = Object.fromEntries(names.map((name) => [name, newAddress()])) as Record<
      (typeof names)[number],
      DatasetAddress
    >;
    for (const [i, name] of names.entries()) {
      const state = name === 'deleted' ? ([{ set: 'state', state: 'deleted' }] as const) : [];
      await add(at[name], { created: day(9 - i), name: `It is ${name}` }, ...state);
    }
    await share(at.open.dataset, recipient, 'grant', undefined);
    await share(at.accepted.dataset, recipient, 'grant', 'accept');
    await share(at.rejected.dataset, recipient, 'grant', 'reject');
    await share(at.revoked.dataset, recipient, 'revoke', 'accept');
    await share(at.deleted.dataset, recipient, 'grant', 'accept');
    await share(at.unsaid.dataset, recipient, undefined, 'accept');
    await share(at.open.dataset, other, 'grant', 'accept');
    const offers = async (filter: Omit<OfferFilter, 'recipient'>) => {
      const found: object[] = [];
      for await (const { owner, dataset, status, metadata } of queries.offers({ recipient, ...filter }, signal))
        found.push({ owner, dataset, status, name: metadata.name });
      return found;
    };
    const all = SHARE_STATUSES.map((status) => ({ ...at[status], status, name: `It is ${status}` }));
    for (const expected of all) t.strictSame(await offers({ status: expected.status }), [expected]);
    t.strictSame(await offers({ status: 'all' }), all);
    t.strictSame(await offers({ status: 'all', limit: 1, offset: 1 }), all.slice(1, 2));
  });
}
