// node test/browser/console/take-picture.ts: takes the picture of docs/console.md.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { demoConsole, uploaded, visit } from './console.ts';

await using ends = new AsyncDisposableStack();
const t = { teardown: (end: () => unknown) => ends.defer(async () => void (await end())) };
const demo = await demoConsole(t);
for (const name of ['Salivary gland, up-regulated', 'Midgut after a blood meal', 'Candidate resistance genes'])
  await uploaded(demo, '1', name);
const { page } = await visit(t, await browser(t), demo.url, { viewport: { width: 1_240, height: 580 } });
await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
await page.getByText('4 datasets', { exact: true }).waitFor();
for (const row of await page.getByRole('row').filter({ hasText: 'genelist' }).all())
  await row.getByText('Installed').waitFor({ timeout: 120_000 });
await page.mouse.move(0, 0);
const devtools = await page.context().newCDPSession(page);
const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
const picture = Buffer.from(data, 'base64');
await writeFile(join(ROOT, 'docs', 'images', 'console.webp'), picture);
console.log(`docs/images/console.webp: ${Math.ceil(picture.length / 1_000)} KB`);
