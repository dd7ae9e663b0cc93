// The documentation at /api in a real browser: whole, on its own, readable in light and in dark.

import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { systemClock } from '../../engine/runtime/time.ts';
import { apiDocs } from '../../http/kernel/openapi/api-docs.ts';
import { opsRoutes } from '../../http/kernel/pipeline/ops.ts';
import type { Route } from '../../http/kernel/pipeline/route.ts';
import { handlerApp } from '../http/handler/handler-app.ts';
import { httpApp } from '../http/http-app.ts';
import { installerApp } from '../http/installer/installer-app.ts';
import { serveHost } from '../http/plugin-host/host-server.ts';
import { cacheDatabase } from '../support/cache-database.ts';
import { browser, LOW_CONTRASTS } from './browser.ts';

/** As in the program: the operators' routes come first, and a service's own take their places. */
const ops = opsRoutes({
  threads: () => 3,
  version: '1',
  checks: [],
  unready: async () => undefined,
  metrics: { text: async () => '', contentType: 'text/plain' },
  clock: systemClock,
});

interface Documented {
  readonly url: string;
  readonly routes: readonly Route[];
}

async function documented(title: string, own: readonly Route[]): Promise<Documented> {
  const described = [...ops.filter(({ path }) => !own.some((route) => route.path === path)), ...own];
  const docs = apiDocs(described, { title, version: '1.2.3', basePath: '' });
  return { url: (await httpApp(t, [...own, ...docs])).url, routes: [...described, ...docs] };
}

const installer = await documented('installer', (await installerApp(t, await cacheDatabase(t))).routes);
const SERVICES: Readonly<Record<string, Documented>> = {
  installer,
  'handler service': await documented('handler', (await handlerApp(t)).routes),
  'plugin host': await documented('plugin host', (await serveHost(t)).routes),
};
const chromium = await browser(t);

/** The page as somebody opens it, with what it asked the network for and what it complained of. */
async function open(t: Test, colorScheme: 'light' | 'dark', { url }: Documented = installer, width = 1_100) {
  const context = await chromium.newContext({ colorScheme, viewport: { width, height: 800 } });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  const answer = await page.goto(`${url}/api`);
  t.equal(answer?.status(), 200);
  return { page, asked, complaints };
}

for (const [name, service] of Object.entries(SERVICES)) {
  t.test(`of the ${name}: shows every operation, loads nothing else and complains of nothing`, async (t) => {
    const { page, asked, complaints } = await open(t, 'light', service);
    const shown = await page.locator('section:not(.schema) h2').allInnerTexts();
    const wanted = service.routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    t.strictSame(shown.map((text) => text.replaceAll(/\s+/g, ' ')).sort(), wanted.sort());
    for (const { summary } of service.routes) t.ok(await page.getByText(summary).first().isVisible(), summary);
    // A browser asks for an icon of its own accord.
    t.strictSame(
      asked.filter((url) => !url.endsWith('/favicon.ico')),
      [`${service.url}/api`],
    );
    t.strictSame(complaints, []);
  });

  t.test(`of the ${name}: every link leads to a part of it, and the other to the document`, async (t) => {
    const { page } = await open(t, 'light', service);
    const links = await hrefs(page);
    const inside = links.filter((href) => href.startsWith('#'));
    t.strictSame(
      links.filter((href) => !href.startsWith('#')),
      ['/api/openapi.json'],
    );
    t.ok(inside.length >= service.routes.length);
    for (const href of inside) t.equal(await page.locator(`[id="${href.slice(1)}"]`).count(), 1, href);
  });

  for (const scheme of ['light', 'dark'] as const)
    t.test(`of the ${name}: is readable in ${scheme}`, async (t) => {
      const { page } = await open(t, scheme, service);
      await page.locator('details summary').first().click();
      const low = await page.evaluate(LOW_CONTRASTS);
      t.strictSame(low, [], 'every text has a contrast of 4.5 to 1 at least (WCAG 2.2, 1.4.3)');
    });

  t.test(`of the ${name}: fits a narrow screen`, async (t) => {
    const { page } = await open(t, 'light', service, 390);
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  });
}

t.test('a link of the list goes where it says', async (t) => {
  const { page } = await open(t, 'light');
  await page.locator('nav a[href="#createDataset"]').click();
  t.match(page.url(), /#createDataset$/);
  t.ok(await inView(page, 'createDataset'));
});

t.test('bodies open where they stand', async (t) => {
  const { page } = await open(t, 'light');
  const body = page.locator('#createDataset details').first();
  t.notOk(await body.locator('ul').first().isVisible());
  await body.locator('summary').click();
  t.match(await body.locator('ul').first().innerText(), /details[\s\S]*NewDataset[\s\S]*uploadIds/);
});

t.test('a named schema is shown once, and what names it leads there', async (t) => {
  const { page } = await open(t, 'light');
  t.match(await page.locator('#Problem').innerText(), /status\*[\s\S]*"bad-request"[\s\S]*byKey\*/);
  t.equal(await page.getByText('"bad-request"').count(), 1);
  t.match(await page.locator('#NewDataset').innerText(), /installTargets[\s\S]*text of 3 to 1024 characters/);
  await page.locator('#createDataset a[href="#Problem"]').first().click();
  t.ok(await inView(page, 'Problem'));
  t.equal(await page.locator('#getReady details').count(), 2, 'schemas without a name, of 200 and of 503');
});

const inView = (page: Page, id: string): Promise<unknown> =>
  page.evaluate(`(() => {
    const { top } = document.getElementById('${id}').getBoundingClientRect();
    return top >= -1 && top < innerHeight;
  })()`);

const hrefs = async (page: Page): Promise<readonly string[]> =>
  (await page.evaluate(`[...document.querySelectorAll('a')].map((link) => link.getAttribute('href'))`)) as string[];
