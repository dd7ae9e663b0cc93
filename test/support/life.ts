// A dataset's whole life, the same wherever it is stored: installed, shared, revoked, deleted, taken back, deleted, removed
// for good. After each step everything that any place says about it is compared.

import type { Test } from 'tap';
import { geneList } from '../fixtures/datasets.ts';
import { type Api, detailsOf } from './api.ts';
import type { Finished } from './longshore.ts';
import { NOTHING_ON_SITE, type WholeState } from './site-state.ts';

export const [OWNER, FRIEND] = ['11', '22'] as const;
const GENES = 40;

export interface LifeParts {
  readonly owner: Api;
  readonly friend: Api;
  /** What everything says of the dataset, once that is as expected or nothing is under way any more. */
  stateOf(id: string, expected: WholeState): Promise<WholeState>;
  /** Runs `longshore prune` with these arguments to its end. */
  prune(...args: readonly string[]): Promise<Finished>;
}

const content = geneList(GENES);
const onBoth = (site: WholeState['sites']['AlphaDB']): WholeState['sites'] => ({ AlphaDB: site, BetaDB: site });

const QUIET = { jobs: 0, leases: 0, attempts: 0, uploads: 0 };
const ON_SITE = {
  status: 'complete/complete',
  deletedStatus: 0,
  accessibility: 'private',
  rows: GENES,
  files: ['formatted_gene_list.txt', 'vdi-meta.json'],
  shownTo: [OWNER],
};
const INSTALLED: WholeState = {
  cache: {
    state: 'live',
    upload: 'success',
    import: 'complete',
    files: ['install formatted_gene_list.txt', 'upload genes.txt'],
    shares: [],
  },
  objects: ['import-ready.zip', 'install-ready.zip', 'vdi-manifest.json', 'vdi-meta.json'],
  sites: onBoth(ON_SITE),
  miscounted: 0,
  leftovers: QUIET,
};

const shared = (friends: string, shownTo: readonly string[], files: readonly string[]): WholeState => ({
  ...INSTALLED,
  cache: { ...INSTALLED.cache, shares: [`${FRIEND} ${friends}`] } as NonNullable<WholeState['cache']>,
  objects: [
    ...INSTALLED.objects.slice(0, 2),
    ...files.map((name) => `shares/${FRIEND}/${name}`),
    ...INSTALLED.objects.slice(2),
  ],
  sites: onBoth({ ...ON_SITE, shownTo }),
});
const BOTH = ['share-offer.json', 'share-receipt.json'];
const OFFERED = shared('grant/-', [OWNER], BOTH.slice(0, 1));
const SHARED = shared('grant/accept', [OWNER, FRIEND], BOTH);
const REVOKED = shared('revoke/accept', [OWNER], BOTH);
const DELETED: WholeState = {
  ...SHARED,
  cache: { ...SHARED.cache, state: 'deleted' } as NonNullable<WholeState['cache']>,
  objects: ['delete-flag', ...SHARED.objects],
  sites: onBoth({ ...ON_SITE, deletedStatus: 1, rows: 0, files: [], shownTo: [] }),
};
const GONE: WholeState = {
  cache: undefined,
  objects: [],
  sites: onBoth(NOTHING_ON_SITE),
  miscounted: 0,
  leftovers: QUIET,
};

/** The tests, one after the other; the owner has no other dataset. */
export async function life(t: Test, { owner, friend, stateOf, prune }: LifeParts): Promise<void> {
  const id = await owner.upload(detailsOf('genelist'), [{ name: 'genes.txt', content }]);
  const offer = (action: string) => owner.send('PUT', `/datasets/${id}/shares/${FRIEND}/offer`, { action });
  const is = async (t: Test, expected: WholeState, because = 'every place says so'): Promise<void> => {
    t.strictSame(await stateOf(id, expected), expected, because);
  };

  await t.test('installed: rows and files on both sites, visible to its owner', async (t) => {
    await is(t, INSTALLED);
  });

  await t.test('shared and accepted: both sites show it to the friend; revoked: they do not', async (t) => {
    t.equal(await offer('grant'), 204);
    await is(t, OFFERED, 'an open offer shows nothing');
    t.equal(await friend.send('PUT', `/datasets/${id}/shares/${FRIEND}/receipt`, { action: 'accept' }), 204);
    await is(t, SHARED);
    t.equal(await offer('revoke'), 204);
    await is(t, REVOKED);
    t.equal(await offer('grant'), 204);
    await is(t, SHARED);
  });

  await t.test('deleted: nothing of it on the sites, everything in the store', async (t) => {
    t.equal(await owner.send('DELETE', `/datasets/${id}`), 204);
    await is(t, DELETED);
    t.equal(await owner.send('GET', `/datasets/${id}`), 410);
  });

  await t.test('taken back: as if it had never been deleted, shares included', async (t) => {
    t.equal(await owner.send('POST', `/datasets/${id}/undelete`), 204);
    await is(t, SHARED);
  });

  await t.test('pruned: nothing is left anywhere', async (t) => {
    t.equal(await owner.send('DELETE', `/datasets/${id}`), 204);
    await is(t, DELETED);
    t.match(await prune('--wait'), { code: 0, stderr: '' });
    await is(t, DELETED, 'the retention window protects it');
    t.match(await prune('--age-cutoff', '0s', '--wait'), { code: 0, stderr: '' });
    await is(t, GONE);
    t.equal(await owner.send('GET', `/datasets/${id}`), 404);
  });
}
