// What every DatasetQueries gives in pages: filtered, found by their words, sorted, while datasets come and go.

import type { Test } from 'tap';
import { type DatasetId, targetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { CatalogChange } from '../../engine/ports/catalog.ts';
import {
  LIST_SORTS,
  type ListOrder,
  type ListPlace,
  type ListSelection,
  type ListSort,
  type SearchWords,
} from '../../engine/ports/dataset-queries.ts';
import { SeededRandom } from '../simulation/random.ts';
import { fullMetadataOf, metadataOf, newAddress, newUser, PLASMO, TOXO } from '../support/dataset-samples.ts';
import type { DatasetQueriesSetup } from './dataset-queries.ts';

const BY_CREATION: ListOrder = { sort: 'created', descending: true };
const BY_RELEVANCE: ListOrder = { sort: 'relevance', descending: true };

/** @param words of a search as `searchOf` gives it */
const found = (words: string, beginnings = ''): { readonly search: SearchWords } => ({ search: { words, beginnings } });

export function datasetPagesConformance(t: Test, setup: (t: Test) => Promise<DatasetQueriesSetup>): void {
  const signal = new AbortController().signal;

  const open = async (t: Test) => {
    const { queries, catalog, grant, share } = await setup(t);
    const write = async (dataset: DatasetId, ...changes: CatalogChange[]) =>
      catalog.write(dataset, await grant(dataset), changes, signal);
    const add = async (at: DatasetAddress, more: Partial<DatasetMetadata> = {}, ...changes: CatalogChange[]) => {
      await catalog.register(at, metadataOf(at.owner, more), [], await grant(at.dataset), signal);
      await write(at.dataset, ...changes);
      return at.dataset;
    };
    const remove = async (dataset: DatasetId) => catalog.remove(dataset, await grant(dataset), signal);
    const page = async (selection: ListSelection, order: ListOrder, limit: number, after?: ListPlace) => {
      const { next, datasets } = await queries.page(selection, order, { limit, ...(after ? { after } : {}) }, signal);
      const ids: DatasetId[] = [];
      for await (const { dataset } of datasets) ids.push(dataset);
      return { ids, next };
    };
    /** All of it on one page. */
    const whole = async (selection: ListSelection, order = selection.search ? BY_RELEVANCE : BY_CREATION) => {
      const { ids, next } = await page(selection, order, 1_000);
      t.equal(next, undefined);
      t.equal(await queries.count(selection, order, signal), ids.length, 'as many as are counted');
      return ids;
    };
    return { queries, share, write, add, remove, page, whole };
  };
  type World = Awaited<ReturnType<typeof open>>;
  const fact = (what: string, check: (t: Test, world: World) => Promise<void>): void => {
    t.test(what, async (t) => check(t, await open(t)));
  };
  const day = (n: number): string => `2026-01-${String(n).padStart(2, '0')}T00:00:00.000Z`;

  fact('pages put together are the whole list, in every order, while datasets come and go', async (t, world) => {
    const { add, remove, write, page, whole } = world;
    const seed = Number(process.env.LONGSHORE_SEED ?? 20_261_126);
    t.comment(`LONGSHORE_SEED=${seed}`);
    const random = new SeededRandom(seed, 'pages');
    const viewer = newUser();
    const anything = async () => {
      const n = random.between(1, 6);
      const size: CatalogChange = { set: 'uploadFiles', files: [{ name: 'a', size: random.between(0, 3) }] };
      return add(
        newAddress(viewer),
        { created: day(n), name: `${random.pick(['Alpha', 'beta', 'BETA', 'c'])} ${n}` },
        size,
      );
    };
    for (let i = 0; i < 12; i++) await anything();
    for (const sort of Object.keys(LIST_SORTS) as ListSort[])
      for (const descending of [true, false]) {
        const selection = {
          viewer,
          ownership: 'any',
          ...(sort === 'relevance' ? found('alpha or beta or c') : {}),
        } as const;
        const order = { sort, descending };
        const before = await whole(selection, order);
        const seen: DatasetId[] = [];
        const gone = new Set<DatasetId>();
        for (let next: ListPlace | undefined, begun = false; !begun || next; begun = true) {
          const { ids, next: following } = await page(selection, order, random.between(1, 4), next);
          seen.push(...ids);
          next = following;
          await anything();
          // Also the dataset where the next page begins.
          const victim = random.chance(0.5) ? ids.at(-1) : random.pick(before);
          if (victim && !gone.has(victim)) {
            if (random.chance(0.5)) await remove(victim);
            else await write(victim, { set: 'state', state: 'deleting' });
            gone.add(victim);
          }
        }
        const title = `by ${sort}, ${descending ? 'descending' : 'ascending'}`;
        t.equal(new Set(seen).size, seen.length, `${title}: none comes twice`);
        const stayed = before.filter((id) => !gone.has(id));
        t.strictSame(
          seen.filter((id) => stayed.includes(id)),
          stayed,
          `${title}: those that stay come in order`,
        );
        const after = await whole(selection, order);
        t.ok(
          stayed.every((id) => after.includes(id)),
          title,
        );
      }
  });

  fact('sorts by creation, name, size and change, equal ones by id', async (t, { add, write, whole }) => {
    const viewer = newUser();
    const sized = (size: number): CatalogChange => ({ set: 'uploadFiles', files: [{ name: 'a', size }] });
    const b = await add(newAddress(viewer), { created: day(1), name: 'beta' }, sized(5));
    const a = await add(newAddress(viewer), { created: day(3), name: 'Alpha' }, sized(1));
    const c = await add(newAddress(viewer), { created: day(2), name: 'Gamma' }, sized(2 ** 33));
    const by = (sort: ListSort, descending: boolean) => whole({ viewer, ownership: 'owned' }, { sort, descending });
    t.strictSame(await by('created', true), [a, c, b]);
    t.strictSame(await by('created', false), [b, c, a]);
    t.strictSame(await by('name', false), [a, b, c]);
    t.strictSame(await by('name', true), [c, b, a]);
    t.strictSame(await by('size', true), [c, b, a]);
    t.strictSame(await by('size', false), [a, b, c]);
    t.strictSame(await by('updated', true), [c, a, b]);
    await write(b, { set: 'import', status: 'complete', messages: [] });
    t.strictSame(await by('updated', true), [b, c, a], 'after a change of the import');
    await write(a, { set: 'install', target: PLASMO, kind: 'data', status: 'running', messages: [] });
    t.strictSame(await by('updated', true), [a, b, c], 'after a change of an install');
    await write(c, { set: 'sync', part: 'meta', version: { etag: 'e', modified: new Date(1) } });
    t.strictSame(await by('updated', true), [a, b, c], 'what nobody is shown is no change');
    const twins = [
      await add(newAddress(viewer), { created: day(9), name: 'twin' }),
      await add(newAddress(viewer), { created: day(9), name: 'TWIN' }),
    ].sort();
    for (const sort of ['created', 'name'] as const)
      for (const descending of [true, false])
        t.strictSame(
          (await by(sort, descending)).filter((id) => twins.includes(id)),
          twins,
        );
  });

  fact('each filter lets through what it says', async (t, { add, whole }) => {
    const viewer = newUser();
    const of = (filter: Partial<ListSelection>) => whole({ viewer, ownership: 'owned', ...filter });
    const gene = await add(newAddress(viewer), { name: 'Genes of 50%_liver', created: day(3) });
    const rna = await add(newAddress(viewer), {
      ...{ name: 'RNA', created: day(2), type: { name: 'rnaseq', version: '2.0' }, installTargets: [PLASMO, TOXO] },
    });
    t.strictSame(await of({ name: 'GENES' }), [gene], 'in any case');
    t.strictSame(await of({ name: '50%_l' }), [gene], 'no character is special');
    t.strictSame(await of({ name: 'enes of_' }), []);
    t.strictSame(await of({ type: { name: 'rnaseq' } }), [rna]);
    t.strictSame(await of({ type: { name: 'rnaseq', version: '2.0' } }), [rna]);
    t.strictSame(await of({ type: { name: 'rnaseq', version: '1.0' } }), []);
    t.strictSame(await of({ target: TOXO }), [rna]);
    t.strictSame(await of({ target: targetId('Nowhere') }), []);
    t.strictSame(await of({ type: { name: 'rnaseq' }, name: 'Genes' }), [], 'all have to hold');
    const later = new Date(Date.now() + 1_000_000);
    t.strictSame(await of({ updatedSince: new Date(0) }), [gene, rna]);
    t.strictSame(await of({ updatedSince: later }), []);
  });

  fact('the status of a dataset is the word for how far it is', async (t, { add, write, whole }) => {
    const viewer = newUser();
    const dataset = await add(newAddress(viewer), { installTargets: [PLASMO, TOXO] });
    const install = (
      target: typeof PLASMO,
      kind: 'meta' | 'data',
      status: 'complete' | 'failed-validation' | 'running',
    ) => ({ set: 'install', target, kind, status, messages: [] }) as const;
    const imported = (status: 'queued' | 'in-progress' | 'complete' | 'invalid' | 'failed') =>
      ({ set: 'import', status, messages: [] }) as const;
    const uploaded = (status: 'running' | 'success' | 'rejected' | 'failed') => ({ set: 'upload', status }) as const;
    const steps: readonly (readonly [CatalogChange, string])[] = [
      [uploaded('running'), 'uploading'],
      [uploaded('rejected'), 'rejected'],
      [uploaded('failed'), 'failed'],
      [uploaded('success'), 'importing'],
      [imported('in-progress'), 'importing'],
      [imported('invalid'), 'invalid'],
      [imported('failed'), 'failed'],
      [imported('complete'), 'installing'],
      [install(PLASMO, 'data', 'complete'), 'installing'],
      [install(PLASMO, 'meta', 'complete'), 'installing'],
      [install(TOXO, 'data', 'failed-validation'), 'failed'],
      [install(TOXO, 'data', 'complete'), 'installing'],
      [install(TOXO, 'meta', 'running'), 'installing'],
      [install(TOXO, 'meta', 'complete'), 'installed'],
    ];
    for (const [change, word] of steps) {
      await write(dataset, change);
      const words = [];
      for (const status of STATUSES)
        if ((await whole({ viewer, ownership: 'owned', status })).length > 0) words.push(status);
      t.strictSame(words, [word], JSON.stringify(change));
    }
  });

  fact('a search finds all words, phrases, beginnings, and not what is excluded', async (t, { add, whole }) => {
    const viewer = newUser();
    const of = (...search: Parameters<typeof found>) => whole({ viewer, ownership: 'owned', ...found(...search) });
    const a = await add(newAddress(viewer), {
      ...{ created: day(2), name: 'Expressed genes', summary: 'of PF3D7_0417200.1 and PF3D7_0417300' },
    });
    const b = await add(newAddress(viewer), {
      created: day(1),
      name: 'Gene lists',
      summary: 'expressed in TGME49_200010',
    });
    t.strictSame((await of('gene expression')).toSorted(), [a, b].toSorted(), 'other forms of the words');
    t.strictSame(await of('gene tgme49'), [b]);
    t.strictSame(await of('gene -tgme49'), [a]);
    t.strictSame(await of('"expressed genes"'), [a]);
    t.strictSame(await of('"genes expressed"'), []);
    t.strictSame((await of('nothing or genes')).toSorted(), [a, b].toSorted());
    t.strictSame(await of('"PF3D7 0417200"'), [a], 'an identifier is a phrase');
    t.strictSame(await of('"PF3D7 0417200 1"'), [a]);
    t.strictSame(await of('0417300'), [a]);
    t.strictSame(await of('"PF3D7 041720"'), [], 'and exact');
    t.strictSame(await of('', `('pf3d7' <-> '0417':*)`), [a], 'or its beginning');
    t.strictSame(await of('gene', `('tgme':*)`), [b]);
    t.strictSame(await of('gene', `!('tgme':*)`), [a]);
    t.strictSame(await of('the'), [], 'a word that every text has finds nothing');
    t.strictSame(await of('nowhere'), []);
  });

  fact('a search knows what owners say, but no addresses of people', async (t, { add, whole }) => {
    const at = newAddress();
    await add(at, fullMetadataOf(at.owner, at.dataset));
    const of = async (words: string) => (await whole({ viewer: at.owner, ownership: 'owned', ...found(words) })).length;
    for (const words of [
      ...['Genes of interest', 'Größe', 'Doe', '12345', '"10 1 x"', '"Project P"', '"Program Q"', 'falciparum', '3D7'],
      ...[
        'sapiens',
        'cohort',
        'observational',
        'Kenya',
        'malaria',
        'blood',
        '"Jo B Doe X"',
        'PRJNA1',
        'NIH',
        'Peru',
        'genelist',
        at.dataset,
      ],
    ])
      t.equal(await of(words), 1, words);
    for (const words of ['"jo x org"', 'isPrimary', 'species', 'true', `O${at.owner}`, 'C'])
      t.equal(await of(words), 0, words);
  });

  fact('a document may be of any size and depth', async (t, { add, whole }) => {
    const viewer = newUser();
    const words = Array.from({ length: 40_000 }, (_, n) =>
      String.fromCodePoint(0x4e00 + (n % 20_000), 0x61 + (n % 26)),
    ).join(' ');
    const deep = JSON.parse(`${'['.repeat(500)}"deep"${']'.repeat(500)}`);
    const large = await add(newAddress(viewer), {
      ...{ name: `Large ${words}`, summary: words, description: `${words} ${'x'.repeat(3_000)}` },
      contacts: [{ lastName: words, isPrimary: true }],
      ...{ funding: [{ agency: words, awardNumber: '1' }], dependencies: deep },
    });
    t.strictSame(await whole({ viewer, ownership: 'owned', ...found('large') }), [large]);
  });

  fact('the name weighs more than the summary, and that more than the rest', async (t, { add, whole }) => {
    const viewer = newUser();
    const text = 'about something else';
    const other = { name: text, summary: text, description: text };
    const rest = await add(newAddress(viewer), { ...other, created: day(9), projectName: 'trypanosoma' });
    const description = await add(newAddress(viewer), { ...other, created: day(8), description: 'trypanosoma else' });
    const summary = await add(newAddress(viewer), { ...other, created: day(7), summary: 'trypanosoma else' });
    const name = await add(newAddress(viewer), { ...other, created: day(6), name: 'trypanosoma else' });
    const selection = { viewer, ownership: 'owned', ...found('trypanosoma') } as const;
    t.strictSame(await whole(selection), [name, summary, description, rest]);
    t.strictSame(await whole(selection, { sort: 'relevance', descending: false }), [rest, description, summary, name]);
    t.strictSame(await whole(selection, BY_CREATION), [rest, description, summary, name]);
  });

  fact('a search follows edits, deletion and undeletion', async (t, { add, write, whole }) => {
    const viewer = newUser();
    const of = (words: string) => whole({ viewer, ownership: 'owned', ...found(words) });
    const dataset = await add(newAddress(viewer), { name: 'Leishmania' });
    t.strictSame(await of('leishmania'), [dataset]);
    await write(dataset, { set: 'metadata', metadata: metadataOf(viewer, { name: 'Giardia' }) });
    t.strictSame([await of('leishmania'), await of('giardia')], [[], [dataset]]);
    await write(dataset, { set: 'state', state: 'deleted' });
    t.strictSame(await of('giardia'), []);
    await write(dataset, { set: 'state', state: 'live' });
    t.strictSame(await of('giardia'), [dataset]);
  });

  fact('a search finds what the list shows, and nothing else', async (t, { add, share, whole }) => {
    const [viewer, word] = [newUser(), `w${newUser()}`];
    const about = { name: `Sum of ${word}` };
    const own = await add(newAddress(viewer), { ...about, created: day(5) });
    const shared = await add(newAddress(), { ...about, created: day(4) });
    await share(shared, viewer, 'grant', 'accept');
    const open = await add(newAddress(), { ...about, created: day(3), visibility: 'public' });
    const asked = await add(newAddress(), { ...about, created: day(2), visibility: 'protected' });
    await share(await add(newAddress(), about), viewer, 'grant', undefined);
    await share(await add(newAddress(), about), viewer, 'revoke', 'accept');
    await add(newAddress(), about);
    await add(newAddress(), { ...about, visibility: 'public' }, { set: 'state', state: 'superseded' });
    const of = (ownership: ListSelection['ownership'], words = word) =>
      whole({ viewer, ownership, ...found(words) }, BY_CREATION);
    t.strictSame(await of('owned'), [own]);
    t.strictSame(await of('shared'), [shared]);
    t.strictSame(await of('any'), [own, shared]);
    t.strictSame(await of('community'), [open, asked]);
    t.strictSame(
      await of('community', `sum -${word}`),
      (await of('community', 'sum')).filter((id) => ![open, asked].includes(id)),
    );
  });

  fact('guests find people only where they are shown them, also not by what is missing', async (t, { add, whole }) => {
    const [viewer, word] = [newUser(), `w${newUser()}`];
    const contacts = [{ firstName: 'Ada', lastName: 'Quux', affiliation: 'Lab', isPrimary: true }];
    const open = await add(newAddress(), { name: word, created: day(3), visibility: 'public', contacts });
    const hidden = await add(newAddress(), { name: word, created: day(2), visibility: 'protected', contacts });
    const of = (words: string, isGuest: boolean, order = BY_CREATION) =>
      whole({ viewer, isGuest, ownership: 'community', ...found(words) }, order);
    t.strictSame(await of(`${word} quux`, false), [open, hidden]);
    t.strictSame(await of(`${word} quux`, true), [open]);
    t.strictSame(await of(`${word} -quux`, false), []);
    t.strictSame(await of(`${word} -quux`, true), [hidden]);
    t.strictSame((await of(`${word} or quux`, true, BY_RELEVANCE)).toSorted(), [open, hidden].toSorted());
    t.strictSame(await of(word, true), [open, hidden]);
  });

  fact('a page leaves out what its reader may no longer see', async (t, { queries, add, write, share }) => {
    const viewer = newUser();
    const own = await add(newAddress(viewer), { created: day(3) });
    const shared = await add(newAddress(), { created: day(2) });
    await share(shared, viewer, 'grant', 'accept');
    const gone = await add(newAddress(viewer), { created: day(1) });
    const selection = { viewer, ownership: 'any' } as const;
    const { datasets, next } = await queries.page(selection, BY_CREATION, { limit: 3 }, signal);
    await write(gone, { set: 'state', state: 'deleting' });
    await write(shared, { set: 'shares', shares: [{ recipient: viewer, offer: 'revoke', receipt: 'accept' }] });
    t.strictSame([(await Array.fromAsync(datasets)).map(({ dataset }) => dataset), next], [[own], undefined]);
  });
}

const STATUSES = ['uploading', 'importing', 'installing', 'installed', 'rejected', 'invalid', 'failed'] as const;
