// The documentation at /api in a real browser: whole, on its own, readable in light and in dark, and its calls can be tried.

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { systemClock } from '../../engine/runtime/time.ts';
import { apiDocs } from '../../http/kernel/openapi/api-docs.ts';
import { opsRoutes } from '../../http/kernel/pipeline/ops.ts';
import type { Route } from '../../http/kernel/pipeline/route.ts';
import { handlerApp } from '../http/handler/handler-app.ts';
import { bearer, httpApp } from '../http/http-app.ts';
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
async function open(t: Test, colorScheme: 'light' | 'dark', { url }: Documented = installer, width = 1_300) {
  const context = await chromium.newContext({ colorScheme, viewport: { width, height: 900 } });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  const answer = await page.goto(`${url}/api`);
  t.equal(answer?.status(), 200);
  await page.getByRole('heading', { level: 1 }).waitFor();
  return { page, asked, complaints };
}

for (const [name, service] of Object.entries(SERVICES)) {
  t.test(`of the ${name}: shows every operation, asks only this server and complains of nothing`, async (t) => {
    const { page, asked, complaints } = await open(t, 'light', service);
    const shown: string[] = [];
    const closed = page.getByRole('button', { name: /^Open Group - / });
    while ((await closed.count()) > 0) await closed.first().click();
    const text = await page.getByRole('complementary').first().innerText();
    shown.push(...text.split('\n'));
    const missing = service.routes
      .map(({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'))
      .filter((path) => !shown.includes(path));
    t.strictSame(missing, []);
    t.strictSame(
      asked.filter((url) => !url.startsWith(`${service.url}/api`)),
      [],
    );
    t.strictSame(complaints, []);
  });

  for (const scheme of ['light', 'dark'] as const)
    t.test(`of the ${name}: is readable in ${scheme}`, async (t) => {
      const { page } = await open(t, scheme, service);
      const low = await page.evaluate(LOW_CONTRASTS);
      t.strictSame(low, [], 'every text has a contrast of 4.5 to 1 at least (WCAG 2.2, 1.4.3)');
      await picture(page, `api-${name}-${scheme}`);
    });

  t.test(`of the ${name}: fits a narrow screen`, async (t) => {
    const { page } = await open(t, 'light', service, 390);
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await picture(page, `api-${name}-narrow`);
  });
}

t.test('a call is tried with a token, and the page shows what the service answers', async (t) => {
  const { page, complaints } = await open(t, 'light');
  await page
    .getByPlaceholder('Token')
    .first()
    .fill(await bearer());
  await page.getByRole('complementary').getByRole('button', { name: 'Open Group - Account' }).click();
  await page.getByRole('complementary').getByText('/users/self/meta', { exact: true }).first().click();
  await page.getByRole('button', { name: /Test Request.*get \/users\/self\/meta/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: /^Send/ }).first().click();
  await dialog.getByText('200').first().waitFor();
  await picture(page, 'api-tried');
  t.strictSame(complaints, []);
});

/** For people: with LONGSHORE_PICTURES the pages are also kept as pictures in that folder. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.LONGSHORE_PICTURES;
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name.replaceAll(' ', '-')}.png`) });
}
