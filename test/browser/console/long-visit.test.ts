// A page that stays open: while the server is killed and comes back, and with more datasets than a screen shows.

import t from 'tap';
import { freePortBase, tempDir, up } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { linkOf, picture, uploaded, visit } from './console.ts';

const MANY = 10_000;
const chromium = await browser(t);
const dir = await tempDir(t);
const args = ['--port-base', String(await freePortBase())];

t.test('says that the server is away, and goes on by itself when it is back', async (t) => {
  const first = await up(t, dir, args);
  const { page } = await visit(t, chromium, linkOf(first));
  await page.getByRole('heading', { name: 'You have no datasets yet' }).waitFor();
  await picture(page, 'datasets-empty');
  await first.crash();
  await page.getByText('The server cannot be reached. Trying again.').waitFor({ timeout: 60_000 });
  await picture(page, 'away');
  t.ok(await page.getByRole('heading', { name: 'You have no datasets yet' }).isVisible(), 'shows what it knows');

  const second = await up(t, dir, args);
  await page.getByText('The server cannot be reached. Trying again.').waitFor({ state: 'detached', timeout: 90_000 });
  await uploaded({ app: second }, '1', 'Genes after the crash');
  const row = page.getByRole('row').filter({ hasText: 'Genes after the crash' });
  await row.getByText('Installed').waitFor({ timeout: 90_000 });
  t.equal(await second.stop(), 0);
});

t.test(`draws few of ${MANY} rows, and reaches the last one`, async (t) => {
  const app = await up(t, dir, args);
  await uploaded({ app }, '1', 'Genes to copy');
  const { page, complaints } = await visit(t, chromium, app.endpoints.installer);
  let all: readonly object[] = [];
  await page.route('**/datasets?*', async (route) => {
    const query = new URL(route.request().url()).searchParams;
    if (all.length === 0) {
      const [one] = (await (await route.fetch()).json()) as { datasetId: string }[];
      all = Array.from({ length: MANY }, (_, i) => ({
        ...one,
        datasetId: `${one?.datasetId}-${i}`,
        name: `Genes ${i + 1}`,
      }));
    }
    const from = Number(query.get('cursor') ?? 0);
    const to = from + Number(query.get('limit'));
    await route.fulfill({
      json: all.slice(from, to),
      headers: {
        'x-total-count': String(MANY),
        ...(to < MANY ? { link: `<http://any.example/datasets?cursor=${to}>; rel="next"` } : {}),
      },
    });
  });
  // In the tab that shows the sign-in.
  await page.goto(linkOf(app));
  await page.getByText('200 of 10,000 datasets').waitFor();
  const more = page.getByRole('button', { name: 'Show more' });
  for (let shown = 1_200; shown < MANY; shown += 1_000) {
    await more.click();
    await page.getByText(`${shown.toLocaleString('en')} of 10,000 datasets`).waitFor();
  }
  await more.click();
  await page.getByText('10,000 datasets', { exact: true }).waitFor();
  const table = page.getByRole('region', { name: 'My datasets' });
  t.ok((await table.getByRole('row').count()) < 80);

  await table.focus();
  await page.keyboard.press('End');
  const last = table.getByRole('link', { name: 'Genes 10000', exact: true });
  await last.waitFor();
  t.ok((await table.getByRole('row').count()) < 80);
  await last.scrollIntoViewIfNeeded();
  t.ok(await last.isVisible());
  t.equal(await table.getByRole('row').last().getAttribute('aria-rowindex'), String(MANY + 1));
  t.strictSame(complaints, []);
});
