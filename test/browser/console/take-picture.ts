// node test/browser/console/take-picture.ts: takes the pictures of docs/console.md, of each page in light, in dark, and on a phone.

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { Api, detailsOf } from '../../support/api.ts';
import { ROOT } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { asOperator, demoConsole, PHONE, uploaded, visit } from './console.ts';
import { FAILING, importScript, replaceScript } from './many-rows.ts';
import { searched } from './search.ts';

const LONG = { timeout: 240_000 };
const SIZE = { width: 1_240, height: 760 };

await using ends = new AsyncDisposableStack();
const t = { teardown: (end: () => unknown) => ends.defer(async () => void (await end())) };
const demo = await demoConsole(t);
const { dir, endpoints, token } = demo.app;
const chromium = await browser(t);
await ofScientists();
await ofOperators();

async function ofScientists(): Promise<void> {
  for (const name of ['Salivary gland, up-regulated', 'Midgut after a blood meal', 'Candidate resistance genes'])
    await uploaded(demo, '1', name);
  const queryId = await searched(demo.app);
  const { page } = await visit(t, chromium, demo.url, { viewport: SIZE });
  await page.getByRole('button', { name: 'Sign in as Demo User' }).waitFor();
  await take(page, 'console-sign-in');
  await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
  await page.getByText('4 datasets', { exact: true }).waitFor();
  for (const row of await page.getByRole('row').filter({ hasText: 'genelist' }).all())
    await row.getByText('Installed').waitFor(LONG);
  await take(page, 'console');
  await page.getByRole('link', { name: 'Midgut after a blood meal' }).click();
  await page.getByRole('heading', { level: 1, name: 'Midgut after a blood meal' }).waitFor();
  await page.getByText('genes.txt').first().waitFor();
  await take(page, 'console-dataset');

  await page.goto(`${demo.url}#/upload`);
  await page.getByLabel('Type of data').selectOption('rnaseq@1.0');
  await page.getByLabel('AlphaDB').check();
  await page.getByLabel('Name', { exact: true }).fill('Midgut, three time points');
  await take(page, 'console-upload');

  await page.goto(`${demo.url}#/access`);
  await page.getByRole('button', { name: 'Request access' }).first().waitFor();
  await take(page, 'console-access');

  await page.goto(`${demo.url}#/reports/new?query=${queryId}`);
  await page.getByLabel('Format').selectOption('tabular');
  await page.getByLabel('Title', { exact: true }).fill('Leaf wax genes');
  await page.getByRole('button', { name: 'Request report' }).click();
  await page.getByRole('columnheader', { name: 'evalue' }).waitFor(LONG);
  await page.getByText('Report requested.').waitFor({ state: 'detached' });
  await take(page, 'console-report');
}

async function ofOperators(): Promise<void> {
  const api = new Api(endpoints.installer, await token('1'));
  const upload = async (count: number): Promise<void> => {
    for (let n = 1; n <= count; n++) {
      const details = detailsOf('genelist', { name: `Genes ${n}`, installTargets: ['AlphaDB'] });
      await api.upload(details, [{ name: 'genes.txt', content: 'PF3D7_0100100\n' }]);
    }
  };
  const { page } = await asOperator(t, chromium, demo, 'datasets', { viewport: SIZE });
  const working = importScript(dir);
  await replaceScript(dir, FAILING);
  await upload(12);
  await page.goto(`${demo.url}#/problems`);
  await page.getByText('12 problems of 1 cause').waitFor(LONG);
  await take(page, 'console-problems');

  const slow = join(dir, 'slow');
  await writeFile(slow, '');
  await replaceScript(dir, working.replace('\n', `\n[ ! -e '${slow}' ] || sleep 3\n`));
  await upload(100);
  await page.goto(`${demo.url}#/lanes`);
  await page.getByText('9 of 10').waitFor(LONG);
  await take(page, 'console-lanes');
  const slider = page.getByRole('slider', { name: /^workerCount/ });
  await slider.focus();
  await slider.press('Home');
  await page.getByText('workerCount, running with 1', { exact: true }).waitFor(LONG);
  await page.goto(`${demo.url}#/configuration?only=live`);
  await page.getByText('Set until the next reload', { exact: true }).first().waitFor();
  await take(page, 'console-configuration');
  await page.goto(`${demo.url}#/plots`);
  const running = page.getByRole('figure', { name: 'Jobs running' });
  await running.waitFor(LONG);
  while (!/Import last 1, /.test(await running.innerText()))
    await page.waitForResponse(/\/admin\/metrics\/history\?series/, LONG).then((response) => response.finished());
  await take(page, 'console-plots');
  await page.goto(`${demo.url}#/audit`);
  await page.getByRole('cell', { name: 'GET /admin/metrics/history' }).first().waitFor();
  await take(page, 'console-audit');
  await rm(slow);
}

async function take(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.evaluate('scrollTo(0, 0)');
  await keep(page, name);
  await page.emulateMedia({ colorScheme: 'dark' });
  await keep(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(PHONE.viewport);
  await keep(page, `${name}-phone`);
  await page.setViewportSize(SIZE);
}

async function keep(page: Page, name: string): Promise<void> {
  // The second picture of the screen has what the change of size or colors has caused.
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
  const devtools = await page.context().newCDPSession(page);
  const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  const picture = Buffer.from(data, 'base64');
  await writeFile(join(ROOT, 'docs', 'images', `${name}.webp`), picture);
  console.log(`docs/images/${name}.webp: ${Math.ceil(picture.length / 1_000)} KB`);
}
