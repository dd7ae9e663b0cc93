// Plots in a real browser: the history of the running program with what happened meanwhile.

import t from 'tap';
import { browser } from '../browser.ts';
import { asOperator, demoConsole, fits, LOOKS, picture, violations } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);
const LONG = { timeout: 90_000 };

t.test('shows the numbers, and a pause as an event', async (t) => {
  const { page, complaints } = await asOperator(t, chromium, demo, 'datasets');
  await page.getByRole('row').filter({ hasText: 'Sample gene list' }).getByText('Installed').waitFor(LONG);
  await page.goto(`${demo.url}#/lanes`);
  await page.getByRole('button', { name: 'Pause rnaseq' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByText('rnaseq is paused').waitFor();
  await page.goto(`${demo.url}#/plots?hours=1`);
  const memory = page.getByRole('figure', { name: 'Memory' });
  await memory.waitFor(LONG);
  t.match(await memory.innerText(), /This process last \d+ MB, highest \d+ MB/);
  t.equal(await memory.locator('canvas').count(), 1);
  await page.getByText('The process started').waitFor();
  await page.getByText('rnaseq paused (Operator 1)').waitFor();
  await page.getByLabel('Range').selectOption('24');
  t.match(page.url(), /hours=24/);
  await memory.waitFor(LONG);
  t.strictSame(complaints, [], 'the policy of the page allows the plots');
});

for (const [name, options] of Object.entries(LOOKS))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await asOperator(t, chromium, demo, 'plots?hours=1', options);
    await page.getByRole('figure', { name: 'Memory' }).waitFor(LONG);
    t.strictSame(await violations(page), []);
    t.ok(await fits(page));
    await picture(page, `plots-${name}`);
    await page.getByRole('heading', { name: 'What happened' }).scrollIntoViewIfNeeded();
    await picture(page, `plots-below-${name}`);
  });
