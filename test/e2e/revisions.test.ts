// A dataset that is revised twice, deleted with its revisions, taken back, trimmed and removed: after each step all that
// any place says about each of the three is compared.

import t from 'tap';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';
import { NOTHING_ON_SITE, type SiteState, settled, type WholeState, wholeState } from '../support/site-state.ts';

const OWNER = '41';
const GENES = [10, 20, 30] as const;

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const owner = new Api(app.endpoints.installer, await app.token(OWNER));
const contents = GENES.map((genes) => geneList(genes));
const note = (text: string) => ({ origin: 'direct-upload', revisionNote: text });
const file = (n: number) => [{ name: 'genes.txt', content: contents[n] ?? '' }];

const original = await owner.upload(detailsOf('genelist'), file(0));
const ids = [original, `${original}_1`, `${original}_2`];

async function states(): Promise<WholeState[]> {
  await settled(dir);
  return Promise.all(ids.map((id) => wholeState(dir, OWNER, id, 'genelist')));
}
const onBoth = (site: SiteState): WholeState['sites'] => ({ AlphaDB: site, BetaDB: site });

const QUIET = { jobs: 0, leases: 0, attempts: 0, uploads: 0 };
const OBJECTS = ['import-ready.zip', 'install-ready.zip', 'vdi-manifest.json', 'vdi-meta.json'];
const FILES = ['install formatted_gene_list.txt', 'upload genes.txt'];

function dataset(state: string, flags: readonly string[], genes: number | undefined): WholeState {
  const installed = genes !== undefined;
  return {
    cache: { state, upload: 'success', import: 'complete', files: FILES, shares: [] },
    objects: [...flags, ...OBJECTS].sort(),
    sites: onBoth({
      status: 'complete/complete',
      deletedStatus: installed ? 0 : 1,
      accessibility: 'private',
      rows: genes ?? 0,
      files: installed ? ['formatted_gene_list.txt', 'vdi-meta.json'] : [],
      shownTo: installed ? [OWNER] : [],
    }),
    miscounted: 0,
    leftovers: QUIET,
  };
}
const GONE: WholeState = {
  cache: undefined,
  objects: [],
  sites: onBoth(NOTHING_ON_SITE),
  miscounted: 0,
  leftovers: QUIET,
};
const trimmed = (): WholeState => {
  const { cache } = dataset('superseded', [], undefined);
  return {
    ...GONE,
    cache: cache && { ...cache, files: ['upload genes.txt'] },
    objects: ['import-ready.zip', 'revised-flag', 'vdi-manifest.json', 'vdi-meta.json'],
  };
};
const prune = async (...options: string[]): Promise<void> => {
  const { code, stderr } = await longshore(['prune', '--data', dir, '--wait', ...options]);
  t.equal(code, 0, stderr);
};

t.test('each revision takes the place of the one before on both sites', async (t) => {
  t.strictSame(await states(), [dataset('live', [], 10), GONE, GONE]);
  t.equal(await owner.revise(original, note('The second list'), file(1)), ids[1]);
  t.strictSame(await states(), [dataset('superseded', ['revised-flag'], undefined), dataset('live', [], 20), GONE]);
  t.equal(await owner.revise(ids[1] ?? '', note('The third list'), file(2)), ids[2]);
  t.strictSame(await states(), revisedTwice);
});

const revisedTwice = [
  dataset('superseded', ['revised-flag'], undefined),
  dataset('superseded', ['revised-flag'], undefined),
  dataset('live', [], 30),
];

t.test('the newest takes all others with it when it is deleted, and back when it is taken back', async (t) => {
  t.equal(await owner.send('DELETE', `/datasets/${original}`), 403, 'an old revision is not deleted alone');
  t.equal(await owner.send('DELETE', `/datasets/${ids[2]}`), 204);
  t.strictSame(await states(), [
    dataset('deleted', ['delete-flag', 'revised-flag'], undefined),
    dataset('deleted', ['delete-flag', 'revised-flag'], undefined),
    dataset('deleted', ['delete-flag'], undefined),
  ]);
  t.equal(await owner.send('POST', `/datasets/${ids[2]}/undelete`), 204);
  t.strictSame(await states(), revisedTwice);
});

t.test('old revisions are trimmed to their history while the newest lives', async (t) => {
  await prune('--age-cutoff', '0s');
  t.strictSame(await states(), [trimmed(), trimmed(), revisedTwice[2]]);
  await prune('--age-cutoff', '0s');
  t.strictSame(await states(), [trimmed(), trimmed(), revisedTwice[2]], 'and only once');
});

t.test('nothing is left of any of them once the newest was deleted and its time is over', async (t) => {
  t.equal(await owner.send('DELETE', `/datasets/${ids[2]}`), 204);
  await settled(dir);
  await prune('--age-cutoff', '0s');
  t.strictSame(await states(), [GONE, GONE, GONE]);
});
