// Pages that stay open while the server is killed and comes back.

import type { Page } from 'playwright-core';
import t from 'tap';
import { freePortBase, tempDir, up } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { asOperator, linkOf, picture, uploaded, visit } from './console.ts';

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

t.test('each open page says that the server is away, and shows what is new when it is back', async (t) => {
  const first = await up(t, dir, [...args, '--demo']);
  const demo = { app: first, url: `${first.endpoints.installer}/`, link: () => linkOf(first) };
  const PAGES = ['datasets', 'access', 'problems', 'problems/jobs', 'lanes', 'plots', 'configuration', 'audit'];
  const visits: { readonly path: string; readonly page: Page }[] = [];
  for (const path of PAGES) {
    const { page } = await asOperator(t, chromium, demo, path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    visits.push({ path, page });
  }
  const dataset = await asOperator(t, chromium, demo, 'datasets');
  await dataset.page.getByRole('link', { name: 'Genes after the crash' }).click();
  visits.push({ path: 'dataset', page: dataset.page });
  await first.crash();
  const away = (page: Page) => page.getByText('The server cannot be reached. Trying again.');
  for (const { path, page } of visits) {
    await away(page).waitFor({ timeout: 120_000 });
    t.ok(await page.getByRole('heading', { level: 1 }).isVisible(), `${path} says so, and stays`);
  }
  const second = await up(t, dir, args);
  for (const { path, page } of visits) {
    await away(page).waitFor({ state: 'detached', timeout: 90_000 });
    await page.locator('main .problem').waitFor({ state: 'detached', timeout: 90_000 });
    t.ok(await page.getByRole('heading', { level: 1 }).isVisible(), `${path} goes on`);
  }
  const lanes = visits.find(({ path }) => path === 'lanes')?.page;
  await lanes?.getByText(/, up for [\d.]+ (s|min)/).waitFor();
  await uploaded({ app: second }, '1', 'Genes after the second crash');
  const list = visits.find(({ path }) => path === 'datasets')?.page;
  const row = list?.getByRole('row').filter({ hasText: 'Genes after the second crash' });
  await row?.getByText('Installed').waitFor({ timeout: 90_000 });
  t.equal(await second.stop(), 0);
});
