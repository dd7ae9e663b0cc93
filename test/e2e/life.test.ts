// A dataset's whole life on the embedded stack: installed, shared, revoked, deleted, taken back, deleted, removed for
// good. After each step everything that any place says about it is compared.

import t from 'tap';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';
import { NOTHING_ON_SITE, settled, type WholeState, wholeState } from '../support/site-state.ts';

const [OWNER, FRIEND] = ['11', '22'];
const GENES = 40;

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const owner = new Api(app.endpoints.installer, await app.token(OWNER));
const friend = new Api(app.endpoints.installer, await app.token(FRIEND));
const content = geneList(GENES);
const id = await owner.upload(detailsOf('genelist'), [{ name: 'genes.txt', content }]);

const now = async (): Promise<WholeState> => {
  await settled(dir);
  return wholeState(dir, OWNER, id, 'genelist');
};
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
  quota: Buffer.byteLength(content),
  leftovers: QUIET,
};
const SHARED_OBJECTS = [
  ...INSTALLED.objects.slice(0, 2),
  `shares/${FRIEND}/share-offer.json`,
  `shares/${FRIEND}/share-receipt.json`,
  ...INSTALLED.objects.slice(2),
];

t.test('installed: rows and files on both sites, visible to its owner', async (t) => {
  t.strictSame(await now(), INSTALLED);
});

t.test('shared and accepted: both sites show it to the friend; revoked: they do not', async (t) => {
  t.equal(await owner.send('PUT', `/datasets/${id}/shares/${FRIEND}/offer`, { action: 'grant' }), 204);
  const offered = await now();
  t.strictSame(offered.cache?.shares, [`${FRIEND} grant/-`]);
  t.strictSame(offered.sites, INSTALLED.sites, 'an open offer shows nothing');
  t.equal(await friend.send('PUT', `/datasets/${id}/shares/${FRIEND}/receipt`, { action: 'accept' }), 204);
  t.strictSame(await now(), {
    ...INSTALLED,
    cache: { ...INSTALLED.cache, shares: [`${FRIEND} grant/accept`] },
    objects: SHARED_OBJECTS,
    sites: onBoth({ ...ON_SITE, shownTo: [OWNER, FRIEND] }),
  });
  t.equal(await owner.send('PUT', `/datasets/${id}/shares/${FRIEND}/offer`, { action: 'revoke' }), 204);
  t.strictSame(await now(), {
    ...INSTALLED,
    cache: { ...INSTALLED.cache, shares: [`${FRIEND} revoke/accept`] },
    objects: SHARED_OBJECTS,
  });
  t.equal(await owner.send('PUT', `/datasets/${id}/shares/${FRIEND}/offer`, { action: 'grant' }), 204);
});

const shared: WholeState = {
  ...INSTALLED,
  cache: { ...INSTALLED.cache, shares: [`${FRIEND} grant/accept`] } as NonNullable<WholeState['cache']>,
  objects: SHARED_OBJECTS,
  sites: onBoth({ ...ON_SITE, shownTo: [OWNER, FRIEND] }),
};
const deleted: WholeState = {
  ...shared,
  cache: { ...shared.cache, state: 'deleted' } as NonNullable<WholeState['cache']>,
  objects: ['delete-flag', ...SHARED_OBJECTS],
  sites: onBoth({ ...ON_SITE, deletedStatus: 1, rows: 0, files: [], shownTo: [] }),
  quota: 0,
};

t.test('deleted: nothing of it on the sites, everything in the store, no quota used', async (t) => {
  t.strictSame(await now(), shared);
  t.equal(await owner.send('DELETE', `/datasets/${id}`), 204);
  t.strictSame(await now(), deleted);
  t.equal(await owner.send('GET', `/datasets/${id}`), 410);
});

t.test('taken back: as if it had never been deleted, shares included', async (t) => {
  t.equal(await owner.send('POST', `/datasets/${id}/undelete`), 204);
  t.strictSame(await now(), shared);
});

t.test('pruned: nothing is left anywhere', async (t) => {
  t.equal(await owner.send('DELETE', `/datasets/${id}`), 204);
  t.strictSame(await now(), deleted);
  const kept = await longshore(['prune', '--data', dir, '--wait']);
  t.equal(kept.code, 0, kept.stderr);
  t.strictSame(await now(), deleted, 'the retention window protects it');
  const pruned = await longshore(['prune', '--data', dir, '--age-cutoff', '0s', '--wait']);
  t.equal(pruned.code, 0, pruned.stderr);
  t.strictSame(await now(), {
    cache: undefined,
    objects: [],
    sites: onBoth(NOTHING_ON_SITE),
    quota: 0,
    leftovers: QUIET,
  });
  t.equal(await owner.send('GET', `/datasets/${id}`), 404);
});
