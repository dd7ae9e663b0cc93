// What every DatasetEdits does.

import type { Test } from 'tap';
import { type DatasetId, revisionOf } from '../../engine/model/ids.ts';
import type { Catalog, CatalogChange } from '../../engine/ports/catalog.ts';
import type { DatasetEdit, DatasetEdits } from '../../engine/ports/dataset-edits.ts';
import type { Lease } from '../../engine/ports/jobs.ts';
import { fullMetadataOf, newAddress, newUser } from '../support/dataset-samples.ts';

export interface DatasetEditsSetup {
  readonly edits: DatasetEdits;
  readonly catalog: Catalog;
  readonly grant: (name: string) => Promise<Lease>;
}

export function datasetEditsConformance(t: Test, setup: (t: Test) => Promise<DatasetEditsSetup>): void {
  const signal = new AbortController().signal;

  const open = async (t: Test) => {
    const { edits, catalog, grant } = await setup(t);
    const at = newAddress();
    const metadata = fullMetadataOf(at.owner, at.dataset);
    await catalog.register(at, metadata, [], await grant(at.dataset), signal);
    const read = () => edits.edit(at.dataset, async (now) => ({ changes: [], result: now }), signal);
    return { edits, catalog, grant, at, metadata, read };
  };

  t.test('an edit sees the dataset as it is', async (t) => {
    const { read, catalog, at } = await open(t);
    const record = await catalog.find(at.dataset, signal);
    t.strictSame(await read(), {
      ...record,
      shares: [],
      files: { documents: [], properties: [] },
      newer: undefined,
      older: [],
    });
  });

  t.test('an edit can delete the older revisions with its own, and leaves those that are gone', async (t) => {
    const { edits, grant, catalog, at, metadata } = await open(t);
    const revision = async (number: number, changes: readonly CatalogChange[] = []) => {
      const dataset = revisionOf(at.dataset, number);
      const history = { originalId: at.dataset, revisions: [] };
      await catalog.register(
        { ...at, dataset },
        { ...metadata, revisionHistory: history },
        changes,
        await grant(dataset),
        signal,
      );
      return dataset;
    };
    const superseded = await revision(1, [{ set: 'state', state: 'superseded' }]);
    const deleted = await revision(2, [{ set: 'state', state: 'deleted' }]);
    const own = await revision(3);
    const newer = await revision(4);
    const older = await edits.edit(
      own,
      async (now) => ({ changes: [{ set: 'olderDeleted' }, { set: 'state', state: 'deleting' }], result: now?.older }),
      signal,
    );
    t.strictSame(older, [superseded, at.dataset], 'newest first');
    const stateOf = async (dataset: DatasetId) => (await catalog.find(dataset, signal))?.state;
    t.strictSame(await Promise.all([at.dataset, superseded, deleted, own, newer].map(stateOf)), [
      ...['deleting', 'deleting', 'deleted', 'deleting', 'live'],
    ]);
  });

  t.test('an edit knows the newest revision after its own, and whether it has failed', async (t) => {
    const { edits, grant, read, catalog, at, metadata } = await open(t);
    const history = { revisionHistory: { originalId: at.dataset, revisions: [] } };
    const add = async (n: number, ...changes: CatalogChange[]): Promise<DatasetId> => {
      const revision = { ...at, dataset: revisionOf(at.dataset, n) };
      const lease = await grant(revision.dataset);
      await catalog.register(revision, { ...metadata, ...history }, [], lease, signal);
      await catalog.write(revision.dataset, lease, changes, signal);
      return revision.dataset;
    };
    const first = await add(1, { set: 'import', status: 'complete', messages: [] });
    t.strictSame((await read())?.newer, { dataset: first, failed: false });
    const tenth = await add(10, { set: 'import', status: 'invalid', messages: ['no'] });
    t.strictSame((await read())?.newer, { dataset: tenth, failed: true });
    await add(11, { set: 'state', state: 'deleting' });
    t.strictSame((await read())?.newer, { dataset: tenth, failed: true }, 'of those that live');
    const of = (dataset: DatasetId) =>
      edits.edit(dataset, async (now) => ({ changes: [], result: now?.newer }), signal);
    t.strictSame([await of(first), await of(tenth)], [{ dataset: tenth, failed: true }, undefined]);
  });

  t.test('an unknown dataset is undefined, and nothing can be changed of it', async (t) => {
    const { edits } = await open(t);
    const { dataset } = newAddress();
    const edit = { changes: [{ set: 'state', state: 'deleting' } as const], result: 'said' };
    t.equal(
      await edits.edit(
        dataset,
        async (now) => {
          t.equal(now, undefined);
          return edit;
        },
        signal,
      ),
      'said',
    );
  });

  t.test('everything that an owner may cause is written at once', async (t) => {
    const { edits, at, metadata, read } = await open(t);
    const [anna, ben] = [newUser(), newUser()].sort() as [ReturnType<typeof newUser>, ReturnType<typeof newUser>];
    const version = { modified: new Date('2026-03-04T05:06:07.089Z'), etag: 'abc-1' };
    const before = await read();
    const properties = [
      { name: 'a.tsv', size: 1 },
      { name: 'b.tsv', size: 2 },
    ];
    const changes: DatasetEdit[] = [
      { set: 'metadata', metadata: { ...metadata, name: 'Other genes' } },
      { set: 'sync', part: 'meta', version },
      { set: 'state', state: 'deleting' },
      { set: 'shares', shares: [{ recipient: ben, offer: 'revoke', receipt: 'accept' }, { recipient: anna }] },
      { set: 'documentFiles', files: [{ name: 'read.me', size: 3 }] },
      { set: 'propertyFiles', files: properties },
    ];
    t.equal(await edits.edit(at.dataset, async () => ({ changes, result: 7 }), signal), 7);
    const after = await read();
    t.strictSame(after, {
      ...before,
      metadata: { ...metadata, name: 'Other genes' },
      state: 'deleting',
      sync: { meta: version },
      shares: [{ recipient: anna }, { recipient: ben, offer: 'revoke', receipt: 'accept' }],
      files: {
        documents: [{ name: 'read.me', size: 3 }],
        properties,
      },
    });
  });

  t.test('a refusal changes nothing and is what the caller gets', async (t) => {
    const { edits, at, read } = await open(t);
    const before = await read();
    const refusal = new Error('not yours');
    const refused = edits.edit(
      at.dataset,
      async () => {
        throw refusal;
      },
      signal,
    );
    await t.rejects(refused, refusal);
    t.strictSame(await read(), before);
  });

  t.test('edits of one dataset never mix: each sees what the one before it wrote', async (t) => {
    const { edits, at, read } = await open(t);
    const recipients = Array.from({ length: 12 }, newUser);
    await Promise.all(
      recipients.map((recipient) =>
        edits.edit(
          at.dataset,
          async (now) => ({
            changes: [{ set: 'shares', shares: [...(now?.shares ?? []), { recipient, offer: 'grant' }] }],
            result: undefined,
          }),
          signal,
        ),
      ),
    );
    const after = await read();
    t.strictSame(after?.shares.map((share) => share.recipient).sort(), recipients.sort());
  });

  t.test('an abort before the end leaves nothing of the edit', async (t) => {
    const { edits, at, read } = await open(t);
    const before = await read();
    const stop = new AbortController();
    const cut = edits.edit(
      at.dataset,
      async () => {
        stop.abort(new Error('the client went away'));
        return { changes: [{ set: 'state', state: 'deleting' }], result: undefined };
      },
      stop.signal,
    );
    await t.rejects(cut, /the client went away/);
    t.strictSame(await read(), before);
  });
}
