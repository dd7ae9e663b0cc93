// What every Catalog does when a dataset enters it from the store, and when it is removed.

import type { Test } from 'tap';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { CatalogChange, DatasetRecord } from '../../engine/ports/catalog.ts';
import { metadataOf, newAddress, newUser, PLASMO, TOXO } from '../support/dataset-samples.ts';
import type { CatalogSetup } from './catalog.ts';

const LIMIT = 1_000_000;

export function catalogLifeConformance(t: Test, setup: (t: Test) => Promise<CatalogSetup>): void {
  const signal = new AbortController().signal;
  const version = { modified: new Date('2026-03-04T05:06:07.089Z'), etag: 'abc' };
  const friend = newUser();

  /** All that a dataset of the store can be registered with. */
  const everything: readonly CatalogChange[] = [
    { set: 'state', state: 'superseded' },
    { set: 'upload', status: 'success' },
    { set: 'import', status: 'complete', messages: ['a note'] },
    { set: 'uploadFiles', files: [{ name: 'raw.txt', size: 700 }] },
    { set: 'installFiles', files: [{ name: 'a/b.txt', size: 2 }] },
    { set: 'documentFiles', files: [{ name: 'c.pdf', size: 3 }] },
    { set: 'propertyFiles', files: [{ name: 'd.tsv', size: 4 }] },
    { set: 'shares', shares: [{ recipient: friend, offer: 'grant' }] },
    { set: 'sync', part: 'meta', version },
    { set: 'sync', part: 'data', version },
    { set: 'sync', part: 'shares', version },
    { set: 'install', target: PLASMO, kind: 'data', status: 'complete', messages: [] },
    { set: 'install', target: PLASMO, kind: 'meta', status: 'complete', messages: ['well'] },
  ];
  const recordOf = (at: DatasetAddress): DatasetRecord => ({
    ...at,
    state: 'superseded',
    metadata: metadataOf(at.owner),
    upload: { status: 'success', message: undefined },
    import: { status: 'complete', messages: ['a note'] },
    installs: [
      { target: PLASMO, kind: 'data', status: 'complete', messages: [] },
      { target: PLASMO, kind: 'meta', status: 'complete', messages: ['well'] },
    ],
    sync: { meta: version, data: version, shares: version },
  });
  const keptOf = {
    files: {
      upload: [{ name: 'raw.txt', size: 700 }],
      install: [{ name: 'a/b.txt', size: 2 }],
      document: [{ name: 'c.pdf', size: 3 }],
      property: [{ name: 'd.tsv', size: 4 }],
    },
    shares: [{ recipient: friend, offer: 'grant' }],
  };
  const nothing = { files: {}, shares: [] };

  const open = async (t: Test) => {
    const parts = await setup(t);
    const { catalog, uploads } = parts;
    const at = newAddress();
    const lease = await parts.grant(at.dataset);
    const register = (...changes: CatalogChange[]) =>
      catalog.register(at, metadataOf(at.owner), changes, lease, signal);
    const receive = () => uploads.begin(at, 100, { bytes: LIMIT }, signal);
    const accept = () =>
      uploads.accept(
        {
          ...at,
          metadata: metadataOf(at.owner),
          metaVersion: version,
          source: { kind: 'files', files: [{ name: 'a.txt', size: 60 }] },
          documents: [{ name: 'e.pdf', size: 8 }],
          properties: [],
          eventId: 1,
        },
        signal,
      );
    return {
      ...parts,
      at,
      lease,
      register,
      receive,
      accept,
      remove: () => catalog.remove(at.dataset, lease, signal),
      found: () => catalog.find(at.dataset, signal),
      kept: () => parts.kept(at.dataset),
      usage: () => uploads.usage(at.owner, signal),
    };
  };

  t.test('a dataset is registered with everything in one step', async (t) => {
    const { at, register, found, kept, usage } = await open(t);
    await register(...everything);
    t.strictSame([await found(), await kept(), await usage()], [recordOf(at), keptOf, 700]);
  });

  t.test('a known dataset is not registered again, nor changed', async (t) => {
    const { at, register, found, kept } = await open(t);
    await register(...everything);
    await register({ set: 'state', state: 'live' }, { set: 'shares', shares: [] }, { set: 'uploadFiles', files: [] });
    t.strictSame([await found(), await kept()], [recordOf(at), keptOf]);
  });

  t.test('a dataset that is being received is not registered', async (t) => {
    const { catalog, at, register, receive, accept, found, kept, usage } = await open(t);
    const isReceiving = () => catalog.isReceiving(at.dataset, signal);
    t.equal(await isReceiving(), false);
    await receive();
    t.equal(await isReceiving(), true);
    await register(...everything);
    t.strictSame([await found(), await kept(), await usage()], [undefined, nothing, 100]);
    await accept();
    t.equal(await isReceiving(), false);
    t.equal((await found())?.state, 'live', 'the upload goes on');
  });

  t.test('who lost the lease registers nothing', async (t) => {
    const { at, grant, register, found, kept, usage } = await open(t);
    await grant(at.dataset);
    await t.rejects(register(...everything), { kind: 'aborted', message: /lease lost/ });
    t.strictSame([await found(), await kept(), await usage()], [undefined, nothing, 0]);
  });

  t.test('removing a dataset removes all there is about it, and its bytes from the quota', async (t) => {
    const { catalog, at, lease, register, remove, found, kept, usage } = await open(t);
    await register(...everything);
    for (const target of [PLASMO, TOXO])
      await catalog.write(
        at.dataset,
        lease,
        [{ set: 'attempt', target, kind: 'data', attempts: 1, notBefore: undefined, started: true }],
        signal,
      );
    await remove();
    t.strictSame([await found(), await kept(), await usage()], [undefined, nothing, 0]);
    t.same(await catalog.attempts(at.dataset, signal), []);
    await remove();
  });

  t.test('what was removed can be registered again, and nothing of before is left', async (t) => {
    const { at, register, remove, found, kept, usage } = await open(t);
    await register(...everything);
    await remove();
    await register();
    t.strictSame(await found(), {
      ...recordOf(at),
      state: 'live',
      import: { status: 'queued', messages: [] },
      installs: [],
      sync: {},
    });
    t.strictSame(await kept(), nothing);
    t.equal(await usage(), 0);
  });

  for (const [state, bytes] of [
    ['an accepted', 60],
    ['a stored', 0],
  ] as const)
    t.test(`${state} upload goes with its dataset`, async (t) => {
      const { catalog, uploads, at, lease, receive, accept, remove, found, kept, usage } = await open(t);
      await receive();
      await accept();
      if (state === 'a stored') await catalog.write(at.dataset, lease, [{ set: 'uploadStored' }], signal);
      t.equal(await usage(), bytes);
      await remove();
      t.strictSame([await found(), await kept(), await usage()], [undefined, nothing, 0]);
      t.equal(await uploads.source(at.dataset, signal), undefined);
      t.equal(await receive(), 'begun', 'its id may be received again');
    });

  t.test('what is being received is not removed', async (t) => {
    const { receive, accept, remove, found, usage } = await open(t);
    await receive();
    await remove();
    t.equal(await usage(), 100);
    await accept();
    t.equal((await found())?.upload.status, 'running');
  });

  t.test('other datasets of the owner stay', async (t) => {
    const { catalog, grant, at, register, remove, usage } = await open(t);
    const other = newAddress(at.owner);
    await register(...everything);
    await catalog.register(other, metadataOf(at.owner), everything, await grant(other.dataset), signal);
    t.equal(await usage(), 1_400);
    await remove();
    t.strictSame(await catalog.find(other.dataset, signal), recordOf(other));
    t.equal(await usage(), 700);
  });
}
