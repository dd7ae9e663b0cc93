// A dataset is changed, shared and revised on the embedded stack: the revision takes its place on both sites, for its
// owner and for whom it is shared with, and what was installed of the old one is gone.

import t from 'tap';
import { FormData, fetch } from 'undici';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { settled, type WholeState, wholeState } from '../support/site-state.ts';
import { queryTarget } from '../support/sites.ts';

const [OWNER, FRIEND] = ['11', '22'];
const [OLD_GENES, NEW_GENES] = [40, 25];

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const base = app.endpoints.installer;
const token = await app.token(OWNER);
const owner = new Api(base, token);
const friend = new Api(base, await app.token(FRIEND));
const primary = { firstName: 'A', lastName: 'B', email: 'a@b.c', affiliation: 'C', country: 'D', isPrimary: true };
const id = await owner.upload(detailsOf('genelist'), [{ name: 'genes.txt', content: geneList(OLD_GENES) }]);
const value = (of: unknown) => ({ value: of });

const stateOf = async (dataset: string): Promise<WholeState> => {
  await settled(dir);
  return wholeState(dir, OWNER, dataset, 'genelist');
};
const onBoth = (site: WholeState['sites']['AlphaDB']): WholeState['sites'] => ({ AlphaDB: site, BetaDB: site });
const installed = (accessibility: string, rows: number, shownTo: readonly string[]): WholeState['sites'] =>
  onBoth({
    status: 'complete/complete',
    deletedStatus: 0,
    accessibility,
    rows,
    files: ['formatted_gene_list.txt', 'vdi-meta.json'],
    shownTo,
  });
const UNINSTALLED = { deletedStatus: 1, rows: 0, files: [], shownTo: [] };

async function namesOnSites(dataset: string): Promise<string[]> {
  const names = await Promise.all(
    ['AlphaDB', 'BetaDB'].map((site) =>
      queryTarget<{ name: string }>(dir, site, 'controlDb', 'select name from dataset_meta where dataset_id = $1', [
        dataset,
      ]),
    ),
  );
  return names.flat().map((row) => row.name);
}

async function revise(
  dataset: string,
  details: object,
  content: string,
): Promise<{ status: number; id: string; location: string | null }> {
  const form = new FormData();
  form.append('details', JSON.stringify(details));
  form.append('dataFile', new Blob([content]), 'genes.txt');
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${base}/datasets/${dataset}`, { method: 'PUT', body: form, headers });
  const { datasetId = '' } = (await response.json()) as { datasetId?: string };
  return { status: response.status, id: datasetId, location: response.headers.get('location') };
}

t.test('a changed name and visibility reach both sites', async (t) => {
  t.strictSame((await stateOf(id)).sites, installed('private', OLD_GENES, [OWNER]));
  const patch = { name: value('Genes with a new name'), visibility: value('protected'), contacts: value([primary]) };
  t.equal(await owner.send('PATCH', `/datasets/${id}`, patch), 204);
  t.strictSame((await stateOf(id)).sites, installed('protected', OLD_GENES, [OWNER]));
  t.strictSame(await namesOnSites(id), ['Genes with a new name', 'Genes with a new name']);
  t.match(await friend.json(`/datasets/${id}`), { name: 'Genes with a new name' }, 'and whoever may see it');
});

t.test('a revision takes the place of the dataset, shares included', async (t) => {
  t.equal(await owner.send('PUT', `/datasets/${id}/shares/${FRIEND}/offer`, { action: 'grant' }), 204);
  t.equal(await friend.send('PUT', `/datasets/${id}/shares/${FRIEND}/receipt`, { action: 'accept' }), 204);
  t.strictSame((await stateOf(id)).sites, installed('protected', OLD_GENES, [OWNER, FRIEND]));

  const note = { origin: 'direct-upload', revisionNote: 'Fewer genes, and better ones' };
  const made = await revise(id, { ...note, name: value('Genes, revised') }, geneList(NEW_GENES));
  const revision = `${id}_1`;
  t.strictSame(made, { status: 202, id: revision, location: `${base}/datasets/${revision}` });

  const after = await stateOf(revision);
  t.strictSame(after.sites, installed('protected', NEW_GENES, [OWNER, FRIEND]));
  t.strictSame(after.cache?.shares, [`${FRIEND} grant/accept`]);
  t.strictSame(after.leftovers, { jobs: 0, leases: 0, attempts: 0, uploads: 0 });
  t.strictSame(await namesOnSites(revision), ['Genes, revised', 'Genes, revised']);

  const old = await stateOf(id);
  t.equal(old.cache?.state, 'superseded');
  t.ok(old.objects.includes('revised-flag'));
  for (const site of Object.values(old.sites)) t.match(site, UNINSTALLED);

  const headers = { authorization: `Bearer ${token}` };
  const moved = await fetch(`${base}/datasets/${id}`, { headers, redirect: 'manual' });
  await moved.body?.cancel();
  t.strictSame([moved.status, moved.headers.get('location')], [301, `${base}/datasets/${revision}`]);
  const shown = (await owner.json(`/datasets/${revision}`)) as {
    revisionHistory: { revisions: { action: string; revisionId: string; revisionNote: string }[] };
  };
  t.strictSame(
    shown.revisionHistory.revisions.map(({ action, revisionId, revisionNote }) => [action, revisionId, revisionNote]),
    [
      ['create', id, 'Initial upload'],
      ['revise', revision, note.revisionNote],
    ],
  );
  t.equal((await owner.get(`/datasets/${id}/files/upload`)).status, 200, 'the files of the old one stay readable');
  t.equal(await owner.send('PATCH', `/datasets/${id}`, { name: value('Too late') }), 403);
  t.equal((await revise(id, note, geneList(1))).status, 403);
});

t.test('the revision is revised in its turn', async (t) => {
  const note = { origin: 'direct-upload', revisionNote: 'Yet another list of genes' };
  const made = await revise(`${id}_1`, note, geneList(7));
  t.equal(made.id, `${id}_2`);
  t.strictSame((await stateOf(made.id)).sites, installed('protected', 7, [OWNER, FRIEND]));
  t.equal((await stateOf(`${id}_1`)).cache?.state, 'superseded');
  t.match(await friend.json(`/datasets/${id}`), { datasetId: made.id }, 'the first id leads to it');
});
