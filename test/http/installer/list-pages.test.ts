import t, { type Test } from 'tap';
import { cacheDatabase } from '../../support/cache-database.ts';
import { commandBlock, runCommands } from '../../support/command-blocks.ts';
import { newUser, PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { httpApp } from '../http-app.ts';
import { callAs, verify } from '../numbered-callers.ts';
import { type App, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';
import { add, imported } from './stored-datasets.ts';

const db = await cacheDatabase(t);

const NEXT = /^<(http:\/\/[^>]+)>; rel="next"$/;

/** The path of the next page; undefined on the last one. */
function nextOf(headers: Headers): string | undefined {
  const link = headers.get('link');
  if (link === null) return undefined;
  const url = new URL(NEXT.exec(link)?.[1] ?? '');
  return url.pathname + url.search;
}

/** A user's datasets, and the same call for pages and for the whole. */
async function world(t: Test) {
  const app = await installerApp(t, db);
  const me = newUser();
  const page = async (path: string, user = me) => {
    const answer = await app.call(user, 'GET', path);
    t.equal(answer.status, 200, `${path} ${answer.text.slice(0, 300)}`);
    t.strictSame(responseFaults(schemaOf(app.routes, 'listDatasets', 200), answer.text), [], path);
    return { text: answer.text, items: answer.body as { datasetId: string; name: string }[], headers: answer.headers };
  };
  const pages = async (path: string, user = me) => {
    const texts: string[] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const { text, headers } = await page(next, user);
      texts.push(text);
      next = nextOf(headers);
    }
    return texts;
  };
  return { app, me, page, pages };
}

const together = (pages: readonly string[]): string =>
  `[${pages
    .map((page) => page.slice(1, -1))
    .filter((page) => page !== '')
    .join(',')}]`;

const day = (n: number): string => `2026-02-${String(n).padStart(2, '0')}T00:00:00.000Z`;

async function seven(app: App, me: ReturnType<typeof newUser>): Promise<void> {
  for (let n = 1; n <= 7; n++)
    await imported(app, db, me, {
      ...{ created: day(n), name: `Set ${n % 3} of seven`, installTargets: n % 2 === 0 ? [PLASMO] : [PLASMO, TOXO] },
      visibility: n > 3 ? 'public' : 'private',
    });
}

t.test('the pages of a list are its bytes, and say how many there are when asked', async (t) => {
  const { app, me, page, pages } = await world(t);
  await seven(app, me);
  const plain = await page('/datasets');
  t.strictSame([plain.items.length, plain.headers.get('link'), plain.headers.get('x-total-count')], [7, null, null]);
  const [first] = await pages('/datasets?limit=3');
  t.equal(first, (await page('/datasets?limit=3&offset=0')).text);
  t.equal(together(await pages('/datasets?limit=3')), plain.text);
  t.equal((await pages('/datasets?limit=3')).length, 3);
  t.equal((await pages('/datasets?limit=7')).length, 1, 'no empty page follows');
  t.equal((await page('/datasets?limit=3&offset=1')).headers.get('link'), null, 'an offset has no next page');
  for (const query of ['?total=true', '?total=true&limit=2', '?total=true&limit=0'])
    t.equal((await page(`/datasets${query}`)).headers.get('x-total-count'), '7', query);
  t.equal((await page('/datasets?limit=2&total=false')).headers.get('x-total-count'), null);
  const filtered = '/datasets?install_target=ToxoSite&ownership=owned&name=seven&status=installing';
  t.equal((await page(`${filtered}&total=true`)).headers.get('x-total-count'), '4');
  t.equal(together(await pages(`${filtered}&limit=1`)), (await page(filtered)).text);
  const found = await pages('/datasets?q=seven+-2&limit=2&sort=name&order=desc');
  t.equal(found.length, 3);
  t.strictSame(
    (JSON.parse(together(found)) as { name: string }[]).map(({ name }) => name),
    ['Set 1 of seven', 'Set 1 of seven', 'Set 1 of seven', 'Set 0 of seven', 'Set 0 of seven'],
  );
  const { headers } = await page('/datasets?q=seven&total=true&limit=1');
  const next = nextOf(headers) ?? '';
  t.match(next, /^\/datasets\?q=seven&limit=1&cursor=[\w-]+$/, 'the total is counted once');
});

t.test('pages of the community', async (t) => {
  const { app, me, pages } = await world(t);
  await seven(app, me);
  const path = '/datasets/community?q=%22of+seven%22&sort=created';
  const mine = (await pages(`${path}&limit=3`, newUser())).flatMap(
    (text) => JSON.parse(text) as { owner: { userId: number } }[],
  );
  t.ok(mine.length >= 4);
  t.strictSame((await pages(`${path}&limit=3`, 'guest-7' as typeof me)).length, Math.ceil(mine.length / 3));
});

t.test('a Link leads to where the caller reaches the service', async (t) => {
  const { app, me } = await world(t);
  await seven(app, me);
  const { port } = await httpApp(t, app.routes, { auth: { verify }, url: { basePath: '/vdi' } });
  const { headers } = await callAs(me, 'GET', `http://127.0.0.1:${port}/vdi/datasets?limit=5&name=of+seven%26`);
  t.equal(headers.get('link'), null, 'nothing has this name');
  const list = await callAs(me, 'GET', `http://127.0.0.1:${port}/vdi/datasets?limit=5&name=of+seven`);
  const link = NEXT.exec(list.headers.get('link') ?? '')?.[1] ?? '';
  t.match(link, new RegExp(`^http://127\\.0\\.0\\.1:${port}/vdi/datasets\\?limit=5&name=of\\+seven&cursor=`));
  t.equal(((await callAs(me, 'GET', link)).body as unknown[]).length, 2);
});

t.test('the tag of a page depends on what follows', async (t) => {
  const { app, me } = await world(t);
  for (let n = 1; n <= 2; n++) await add(app, db, me, { created: day(9 - n) });
  const tagged = async () => (await app.call(me, 'GET', '/datasets?limit=2')).headers.get('etag') ?? '';
  const etag = await tagged();
  const again = { headers: { 'if-none-match': etag } };
  t.equal((await app.call(me, 'GET', '/datasets?limit=2', again)).status, 304);
  await add(app, db, me, { created: day(1) });
  const { status, headers } = await app.call(me, 'GET', '/datasets?limit=2', again);
  t.equal(status, 200, 'there is a next page now');
  t.ok(nextOf(headers));
});

t.test('a wrong parameter is 400 with its name, its value and what is allowed', async (t) => {
  const { app, me } = await world(t);
  for (const [query, message] of [
    ['q=%20', /^query parameter 'q' is ' ': has no word: expected letters or digits$/],
    ['q=', /^query parameter 'q' is '': /],
    [`q=${'a'.repeat(301)}`, /^query parameter 'q' is 'a+': must NOT have more than 300 characters$/],
    ['q=ab*', /^query parameter 'q' is 'ab\*': .* at least 3 characters before '\*'$/],
    ['q=%00a', /^query parameter 'q' holds the character U\+0000$/],
    ['sort=owner', /^query parameter 'sort' is 'owner': one of created, updated, name, size, relevance$/],
    [
      'sort=relevance',
      /^query parameter 'sort' is 'relevance': needs a search: expected 'q', or one of created, updated, name, size$/,
    ],
    ['order=up', /^query parameter 'order' is 'up': one of asc, desc$/],
    [
      'status=done',
      /^query parameter 'status' is 'done': one of uploading, importing, installing, installed, rejected, invalid, failed$/,
    ],
    ['updatedSince=yesterday', /^query parameter 'updatedSince' is 'yesterday': /],
    [
      'updatedSince=2026-02-30',
      /^query parameter 'updatedSince' is '2026-02-30': expected a date such as 2026-01-02, /,
    ],
    ['type=@1.0', /^query parameter 'type' is '@1\.0': must match pattern /],
    ['type=', /^query parameter 'type' is '': must match pattern /],
    ['name=', /^query parameter 'name' is '': must NOT have fewer than 1 characters$/],
    ['total=maybe', /^query parameter 'total' is 'maybe': must be boolean$/],
    [
      'sort=name&offset=2',
      /^query parameter 'offset' is '2': is not for a list with 'sort': follow the Link to the next page$/,
    ],
    ['q=a&limit=1001', /^query parameter 'limit' is '1001': with 'q', expected 1 to 1000$/],
    ['order=asc&limit=-1', /^query parameter 'limit' is '-1': with 'order', expected 1 to 1000$/],
    ['cursor=abc', /^query parameter 'cursor' is 'abc': expected that of the Link of a page of this list, /],
    ['q=a&q=b', /^query parameter 'q' is given twice$/],
  ] as const)
    for (const path of ['/datasets', '/datasets/community'])
      t.match(
        await app.call(me, 'GET', `${path}?${query}`),
        { status: 400, body: { status: 'bad-request', message } },
        query,
      );
});

t.test('a cursor is for its own list: caller, route, filters and order', async (t) => {
  const { app, me, page } = await world(t);
  await seven(app, me);
  const cursor = new URL(nextOf((await page('/datasets?limit=2')).headers) ?? '', 'http://x').searchParams.get(
    'cursor',
  );
  t.equal((await page(`/datasets?limit=4&cursor=${cursor}`)).items.length, 4, 'of any size');
  for (const [path, user] of [
    ['/datasets/community?limit=2', me],
    ['/datasets?limit=2', newUser()],
    ['/datasets?limit=2&name=seven', me],
    ['/datasets?limit=2&ownership=owned', me],
    ['/datasets?limit=2&install_target=ToxoSite', me],
    ['/datasets?limit=2&sort=name', me],
    ['/datasets?limit=2&order=asc', me],
    ['/datasets?limit=2&q=seven', me],
  ] as const) {
    const { status, body } = await app.call(user, 'GET', `${path}&cursor=${cursor}`);
    t.match([status, body], [400, { message: /^query parameter 'cursor' is / }], path);
  }
  const altered = `${cursor?.slice(0, -1)}${cursor?.endsWith('A') ? 'B' : 'A'}`;
  t.equal((await app.call(me, 'GET', `/datasets?limit=2&cursor=${altered}`)).status, 400);
});

t.test('the commands of docs/finding-datasets.md find what they say', async (t) => {
  const { app, me } = await world(t);
  const failed = await add(app, db, me, {}, { upload_status: 'failed' });
  const about = { visibility: 'public', summary: 'Of the blood stages', description: 'PF3D7_0417200' } as const;
  const found = await imported(app, db, me, about);
  const mouse = await imported(app, db, me, { ...about, name: 'Of mice and a mouse' });
  const printed = await runCommands(commandBlock('finding'), { cwd: t.testdir(), env: { SERVER: app.url, TOKEN: me } });
  const [first = '', second = ''] = printed.split(/(?<=\])(?=HTTP)/);
  t.match(first.toLowerCase(), /^http\/1.1 200[\s\S]*^x-total-count: 1\r$/m);
  t.match(first, failed.dataset);
  t.match(second, found.dataset);
  t.notMatch(printed, mouse.dataset);
});
