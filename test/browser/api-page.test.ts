// The documentation at /api in a real browser: whole, on its own, readable in light and in dark.

import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { systemClock } from '../../engine/time.ts';
import { apiDocs } from '../../http/api-docs.ts';
import { opsRoutes } from '../../http/ops.ts';
import { httpApp } from '../http/http-app.ts';
import { installerApp } from '../http/installer/installer-app.ts';
import { cacheDatabase } from '../support/cache-database.ts';
import { browser, LOW_CONTRASTS } from './browser.ts';

const installer = await installerApp(t, await cacheDatabase(t));
// As in the program: the operators' routes come first.
const ops = opsRoutes({
  version: '1',
  checks: [],
  ready: () => true,
  metrics: { text: async () => '', contentType: 'text/plain' },
  clock: systemClock,
});
const described = [...ops, ...installer.routes];
const docs = apiDocs(described, { title: 'Longshore installer', version: '1.2.3', basePath: '' });
const routes = [...described, ...docs];
const app = await httpApp(t, [...installer.routes, ...docs]);
const chromium = await browser(t);

/** The page as somebody opens it, with what it asked the network for and what it complained of. */
async function open(t: Test, colorScheme: 'light' | 'dark', width = 1_100) {
  const context = await chromium.newContext({ colorScheme, viewport: { width, height: 800 } });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  const answer = await page.goto(`${app.url}/api`);
  t.equal(answer?.status(), 200);
  return { page, asked, complaints };
}

t.test('shows every operation, loads nothing else and complains of nothing', async (t) => {
  const { page, asked, complaints } = await open(t, 'light');
  const shown = await page.locator('section:not(#errors) h2').allInnerTexts();
  const wanted = routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  t.strictSame(shown.map((text) => text.replaceAll(/\s+/g, ' ')).sort(), wanted.sort());
  for (const { summary } of routes) t.ok(await page.getByText(summary).first().isVisible(), summary);
  // A browser asks for an icon of its own accord.
  t.strictSame(
    asked.filter((url) => !url.endsWith('/favicon.ico')),
    [`${app.url}/api`],
  );
  t.strictSame(complaints, []);
});

t.test('every link in the page leads to a part of it, and the other to the document', async (t) => {
  const { page } = await open(t, 'light');
  const links = await hrefs(page);
  const inside = links.filter((href) => href.startsWith('#'));
  t.strictSame(
    links.filter((href) => !href.startsWith('#')),
    ['/api/openapi.json'],
  );
  t.ok(inside.length >= routes.length);
  for (const href of inside) t.equal(await page.locator(`[id="${href.slice(1)}"]`).count(), 1, href);
  await page.locator('nav a[href="#createDataset"]').click();
  t.match(page.url(), /#createDataset$/);
  t.ok(await inView(page, 'createDataset'));
});

t.test('bodies open where they stand', async (t) => {
  const { page } = await open(t, 'light');
  const body = page.locator('#createDataset details').first();
  t.notOk(await body.locator('ul').first().isVisible());
  await body.locator('summary').click();
  t.match(
    await body.locator('ul').first().innerText(),
    /installTargets[\s\S]*text of 3 to 1024 characters[\s\S]*dataFile/,
  );
});

t.test('the body of errors is shown once, and another one where it is', async (t) => {
  const { page } = await open(t, 'light');
  t.match(await page.locator('#errors').innerText(), /status\*[\s\S]*"bad-request"[\s\S]*byKey\*/);
  t.equal(await page.getByText('"bad-request"').count(), 1);
  t.equal(await page.locator('#getReady details').count(), 2, 'of 200 and of 503');
});

for (const scheme of ['light', 'dark'] as const)
  t.test(`is readable in ${scheme}`, async (t) => {
    const { page } = await open(t, scheme);
    await page.locator('details summary').first().click();
    const low = await page.evaluate(LOW_CONTRASTS);
    t.strictSame(low, [], 'every text has a contrast of 4.5 to 1 at least (WCAG 2.2, 1.4.3)');
  });

t.test('fits a narrow screen', async (t) => {
  const { page } = await open(t, 'light', 390);
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
});

const inView = (page: Page, id: string): Promise<unknown> =>
  page.evaluate(`(() => {
    const { top } = document.getElementById('${id}').getBoundingClientRect();
    return top >= -1 && top < innerHeight;
  })()`);

const hrefs = async (page: Page): Promise<readonly string[]> =>
  (await page.evaluate(`[...document.querySelectorAll('a')].map((link) => link.getAttribute('href'))`)) as string[];
