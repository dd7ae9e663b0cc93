// node test/browser/console/take-picture.ts: takes the pictures of docs/console.md.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { demoConsole, uploaded, visit } from './console.ts';
import { searched } from './search.ts';

await using ends = new AsyncDisposableStack();
const t = { teardown: (end: () => unknown) => ends.defer(async () => void (await end())) };
const demo = await demoConsole(t);
for (const name of ['Salivary gland, up-regulated', 'Midgut after a blood meal', 'Candidate resistance genes'])
  await uploaded(demo, '1', name);
const queryId = await searched(demo.app);
const { page } = await visit(t, await browser(t), demo.url, { viewport: { width: 1_240, height: 580 } });
await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
await page.getByText('4 datasets', { exact: true }).waitFor();
for (const row of await page.getByRole('row').filter({ hasText: 'genelist' }).all())
  await row.getByText('Installed').waitFor({ timeout: 120_000 });
await take(page, 'console');

await page.goto(`${demo.url}#/upload`);
await page.getByLabel('Type of data').selectOption('rnaseq@1.0');
await page.getByLabel('AlphaDB').check();
await page.getByLabel('Name', { exact: true }).fill('Midgut, three time points');
await page.getByRole('heading', { level: 1 }).scrollIntoViewIfNeeded();
await take(page, 'console-upload');

await page.goto(`${demo.url}#/reports/new?query=${queryId}`);
await page.getByLabel('Format').selectOption('tabular');
await page.getByLabel('Title', { exact: true }).fill('Leaf wax genes');
await page.getByRole('button', { name: 'Request report' }).click();
await page.getByRole('columnheader', { name: 'evalue' }).waitFor({ timeout: 120_000 });
await page.getByText('Report requested.').waitFor({ state: 'detached' });
await take(page, 'console-report');

async function take(of: Page, name: string): Promise<void> {
  await of.mouse.move(0, 0);
  const devtools = await of.context().newCDPSession(of);
  const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  const picture = Buffer.from(data, 'base64');
  await writeFile(join(ROOT, 'docs', 'images', `${name}.webp`), picture);
  console.log(`docs/images/${name}.webp: ${Math.ceil(picture.length / 1_000)} KB`);
}
