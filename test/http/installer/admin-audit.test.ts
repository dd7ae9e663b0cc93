import t, { type Test } from 'tap';
import { PostgresAuditLog } from '../../../engine/adapters/datasets/audit-postgres.ts';
import type { AuditRow } from '../../../engine/model/audit.ts';
import { auditRow } from '../../conformance/audit-log.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { ADMIN, bearer } from '../http-app.ts';
import { installerApp } from './installer-app.ts';

const NOON = Date.UTC(2026, 10, 25, 12);
const signal = new AbortController().signal;

interface Page {
  readonly results: readonly { readonly id: string; readonly route: string; readonly at: string }[];
  readonly next?: string;
}

async function setup(t: Test, rows: readonly AuditRow[] = []) {
  const db = await cacheDatabase(t);
  await new PostgresAuditLog(db).append(rows, signal);
  const { url } = await installerApp(t, db);
  const ask = (query: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${url}/admin/audit${query}`, { headers: { 'admin-token': ADMIN, ...headers } });
  const page = async (query: string): Promise<Page> => (await (await ask(query)).json()) as Page;
  return { url, ask, page };
}

t.test('a row is shown as it was kept', async (t) => {
  const { page } = await setup(t, [auditRow({ at: NOON })]);
  const { at: _at, ...row } = auditRow();
  t.strictSame(await page(''), { results: [{ id: `${NOON}-1`, at: '2026-11-25T12:00:00.000Z', ...row }] });
});

t.test('pages and filters find what is asked for; JSON lines have all of it, oldest first', async (t) => {
  const rows = Array.from({ length: 25 }, (_, i) =>
    auditRow({
      at: NOON + i * 3_600_000,
      route: `/r${i}`,
      ...(i % 5 === 0 ? { dataset: 'mine', outcome: 'refused' } : {}),
    }),
  );
  const { ask, page } = await setup(t, rows);
  const all = async (query: string): Promise<string[]> => {
    const routes: string[] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const { results, next }: Page = await page(`?limit=4${query}${after === '' ? '' : `&after=${after}`}`);
      routes.push(...results.map(({ route }) => route));
      after = next;
    }
    return routes;
  };
  const names = (...numbers: number[]): string[] => numbers.map((i) => `/r${i}`);
  const newest = rows.map(({ route }) => route).toReversed();
  t.strictSame(await all(''), newest);
  t.strictSame(await all('&dataset=mine'), names(20, 15, 10, 5, 0));
  t.strictSame(await all('&outcome=refused&from=2026-11-26'), names(20, 15));
  t.strictSame(await all('&from=2026-11-25T13&to=2026-11-25T15'), names(2, 1));
  t.strictSame(await all('&route=/r7'), names(7));
  t.strictSame(await all('&actor=42&to=2026-11-25T14'), names(1, 0));
  t.strictSame(await all('&actor=43'), []);
  const lines = await ask('?dataset=mine', { accept: 'application/x-ndjson' });
  t.equal(lines.headers.get('content-type'), 'application/x-ndjson');
  const found = (await lines.text())
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { route: string }).route);
  t.strictSame(found, names(0, 5, 10, 15, 20));
  t.equal(await (await ask('?dataset=none', { accept: 'application/x-ndjson' })).text(), '');
});

t.test('what is asked wrongly is named', async (t) => {
  const { ask } = await setup(t);
  for (const [query, message] of [
    ['?from=yesterday!!', /query parameter 'from' is 'yesterday!!'/],
    ['?after=x', /query parameter 'after' is 'x'/],
    ['?limit=1001', /query parameter 'limit' is '1001'/],
    ['?limit=0', /query parameter 'limit' is '0'/],
    ['?outcome=good', /one of done, refused, rejected, failed, cut/],
    ['?user=1', /known: from, to, actor, dataset, route, outcome, after, limit/],
  ] as const) {
    const response = await ask(query);
    t.equal(response.status, 400, query);
    t.match(((await response.json()) as { message: string }).message, message);
  }
});

t.test('only administrators read it', async (t) => {
  const { url } = await setup(t);
  const status = async (headers: Readonly<Record<string, string>>): Promise<number> =>
    (await fetch(`${url}/admin/audit`, { headers })).status;
  t.equal(await status({}), 401);
  t.equal(await status({ 'admin-token': 'w'.repeat(40) }), 403);
  t.equal(await status({ authorization: `Bearer ${await bearer()}` }), 401);
});
