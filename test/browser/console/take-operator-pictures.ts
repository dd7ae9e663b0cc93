// node test/browser/console/take-operator-pictures.ts: takes the pictures of the pages for operators in docs/console.md.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { Api, detailsOf } from '../../support/api.ts';
import { ROOT } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { asOperator, demoConsole } from './console.ts';
import { FAILING, importScript, replaceScript } from './many-rows.ts';

const LONG = { timeout: 240_000 };
const SIZE = { viewport: { width: 1_240, height: 760 } };

await using ends = new AsyncDisposableStack();
const t = { teardown: (end: () => unknown) => ends.defer(async () => void (await end())) };
const demo = await demoConsole(t);
const { dir, endpoints, token } = demo.app;
const working = importScript(dir);
const api = new Api(endpoints.installer, await token('1'));
const { page } = await asOperator(t, await browser(t), demo, 'datasets', SIZE);
await page.getByRole('row').filter({ hasText: 'Sample gene list' }).getByText('Installed').waitFor(LONG);

await replaceScript(dir, FAILING);
await upload(12);
await page.goto(`${demo.url}#/problems`);
await page.getByText('12 problems of 1 cause').waitFor(LONG);
await keep(page, 'problems');

await replaceScript(dir, working.replace('\n', '\nsleep 2\n'));
await upload(200);
await page.goto(`${demo.url}#/lanes`);
await page.getByText('10 of 10').waitFor(LONG);
await keep(page, 'lanes');
const slider = page.getByRole('slider', { name: /^workerCount/ });
await slider.focus();
await slider.press('Home');
await page.getByText('workerCount, running with 1', { exact: true }).waitFor(LONG);
await page.goto(`${demo.url}#/configuration?only=live`);
await page.getByText('Set until the next reload').first().waitFor();
await keep(page, 'configuration');
await page.goto(`${demo.url}#/plots`);
const running = page.getByRole('figure', { name: 'Jobs running' });
for (let text = ''; !/Import last 1, /.test(text); text = await running.innerText())
  await page.waitForResponse(/\/admin\/metrics\/history\?series/, LONG).then((response) => response.finished());
await keep(page, 'plots');
await page.goto(`${demo.url}#/audit`);
await page.getByRole('row').filter({ hasText: 'PATCH /admin/lanes/:lane/sizes' }).waitFor();
await keep(page, 'audit');

async function upload(count: number): Promise<void> {
  for (let n = 1; n <= count; n++) {
    const details = detailsOf('genelist', { name: `Genes ${n}`, installTargets: ['AlphaDB'] });
    await api.upload(details, [{ name: 'genes.txt', content: 'PF3D7_0100100\n' }]);
  }
}

async function keep(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  const devtools = await page.context().newCDPSession(page);
  const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  const picture = Buffer.from(data, 'base64');
  await writeFile(join(ROOT, 'docs', 'images', `console-${name}.webp`), picture);
  console.log(`docs/images/console-${name}.webp: ${Math.ceil(picture.length / 1_000)} KB`);
}
