// Whoever cannot see a dataset, or the people in it, tries to learn of them by searches: by what is found, by what is missing, by
// how many there are, by the order, and by the cursors of others.

import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';

const app = await up(t, join(await tempDir(t), 'data'), ['--port-base', String(await freePortBase())]);
const { installer } = app.endpoints;
const OWNER = '951';
const tokens = {
  owner: await app.token(OWNER),
  stranger: await app.token('952'),
  guest: await app.token('953', '--guest'),
  'guest with the number of the owner': await app.token(OWNER, '--guest'),
};
type Who = keyof typeof tokens;

const owner = new Api(installer, tokens.owner);
const files = [{ name: 'genes.txt', content: geneList(5) }];
const contact = {
  ...{ firstName: 'Zenobia', lastName: 'Quux', email: 'zq@lab.example', affiliation: 'Wolpertinger Institute' },
  ...{ country: 'X', isPrimary: true },
};
const upload = (name: string, visibility: string, more: object = {}) =>
  owner.upload(detailsOf('genelist', { ...{ name, visibility, installTargets: ['AlphaDB'] }, ...more }), files);
const ids = {
  private: await upload('Secret kryptonite', 'private', {
    summary: 'of kryptonite in PF3D7_0417200',
    contacts: [contact],
  }),
  protected: await upload('Shown selenium', 'protected', { summary: 'of selenium', contacts: [contact] }),
  public: await upload('Shown selenium too', 'public', { summary: 'of selenium', contacts: [contact] }),
};

async function list(who: Who, path: string, query: Record<string, string>) {
  const response = await fetch(`${installer}${path}?${new URLSearchParams({ total: 'true', ...query })}`, {
    headers: { authorization: `Bearer ${tokens[who]}` },
  });
  const body = await response.text();
  const found = response.status === 200 ? (JSON.parse(body) as { datasetId: string }[]) : [];
  return {
    status: response.status,
    ids: found.map(({ datasetId }) => datasetId).toSorted(),
    total: response.headers.get('x-total-count'),
    link: response.headers.get('link'),
    body,
  };
}

const QUERIES: readonly Record<string, string>[] = [
  ...[
    'kryptonite',
    'secret kryptonite',
    '"secret kryptonite"',
    'kryp*',
    'PF3D7_0417200',
    'PF3D7_0417*',
    ids.private,
  ].map((q) => ({
    q,
  })),
  ...['-nothing kryptonite', 'nothing or kryptonite', 'kryptonite -zenobia', `O${OWNER}`, `'O${OWNER}'`, 'O951*'].map(
    (q) => ({ q }),
  ),
  { name: 'krypton' },
  { name: '%' },
  { q: 'kryptonite', sort: 'name' },
  { q: 'kryptonite', sort: 'size', order: 'asc' },
  { sort: 'updated', limit: '1000' },
  { status: 'installed', name: 'kryptonite' },
  { updatedSince: '2000-01-01', name: 'kryptonite' },
];

t.test('a private dataset is found by its owner alone', async (t) => {
  const own = await list('owner', '/datasets', { q: 'kryptonite PF3D7_0417*' });
  t.match(own, { status: 200, ids: [ids.private], total: '1' }, 'what others look for is there');
  for (const who of ['stranger', 'guest', 'guest with the number of the owner'] as const)
    for (const path of who === 'stranger' ? ['/datasets', '/datasets/community'] : ['/datasets/community'])
      for (const query of QUERIES) {
        const title = `${who}: ${path} ${JSON.stringify(query)}`;
        const { status, ids: found, total, body } = await list(who, path, query);
        t.equal(status, 200, title);
        t.notOk(found.includes(ids.private), title);
        t.notMatch(body, /kryptonite|Quux.*Secret/, title);
        t.equal(total, String(found.length), `${title}: and is not counted`);
      }
  for (const who of ['guest', 'guest with the number of the owner'] as const)
    t.equal((await list(who, '/datasets', { q: 'kryptonite' })).status, 403, `${who} has no list`);
});

t.test('guests learn nothing of the people in protected datasets', async (t) => {
  const both = [ids.protected, ids.public].toSorted();
  const search = async (who: Who, q: string) => {
    const { ids: found, total } = await list(who, '/datasets/community', { q });
    t.equal(total, String(found.length), `${who}: ${q}`);
    return found;
  };
  for (const words of ['zenobia', 'quux', '"zenobia quux"', 'zeno*', 'wolpertinger', 'selenium quux']) {
    t.strictSame(await search('stranger', words), both, `users are shown them: ${words}`);
    for (const who of ['guest', 'guest with the number of the owner'] as const)
      t.strictSame(await search(who, words), [ids.public], `${who}: ${words}`);
  }
  for (const [words, found] of [
    ['selenium -quux', [ids.protected]],
    ['selenium -zeno*', [ids.protected]],
    ['selenium -"zenobia quux"', [ids.protected]],
    ['selenium', both],
  ] as const)
    t.strictSame(await search('guest', words), found, `nor by what is missing: ${words}`);
  for (const who of ['owner', 'stranger', 'guest'] as const)
    t.strictSame(await search(who, 'zq@lab.example'), [], `${who} finds nobody by an address`);
});

t.test('the cursor of another is of no use', async (t) => {
  const { link } = await list('owner', '/datasets', { limit: '1', sort: 'name' });
  const cursor = new URL(/<([^>]+)>/.exec(link ?? '')?.[1] ?? '').searchParams.get('cursor') ?? '';
  t.match(await list('owner', '/datasets', { limit: '1', sort: 'name', cursor }), { status: 200 });
  for (const [who, path] of [
    ['stranger', '/datasets'],
    ['stranger', '/datasets/community'],
    ['guest', '/datasets/community'],
    ['owner', '/datasets/community'],
  ] as const) {
    const { status, body } = await list(who, path, { limit: '1', sort: 'name', cursor });
    t.equal(status, 400, `${who}: ${path}`);
    t.notMatch(body, /selenium|kryptonite/i);
  }
});

t.test('a search is no way to keep the service busy', async (t) => {
  const many = Array.from({ length: 75 }, (_, n) => `-a${n}`).join(' ');
  for (const q of [
    many.slice(0, 300),
    `${'"'.repeat(299)}a`,
    `${'('.repeat(200)}aaa*`,
    'a'.repeat(300),
    `${'x or '.repeat(59)}x`,
    `${'-'.repeat(299)}b`,
  ])
    t.match(await list('guest', '/datasets/community', { q }), { status: 200 }, q.slice(0, 30));
});
