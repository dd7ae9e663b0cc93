// Lanes in a real browser: an operator pauses a plugin and sees its jobs wait, resumes it, moves a slider and keeps it in the file.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parseDocument } from 'yaml';
import { browser } from '../browser.ts';
import { asObserver, asOperator, demoConsole, fits, LOOKS, picture, uploaded, violations } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);
const LONG = { timeout: 60_000 };

t.test('a plugin is paused and resumed', async (t) => {
  const { page, complaints } = await asOperator(t, chromium, demo, 'datasets');
  // The dataset of the demo needs the plugin as well.
  await page.getByRole('row').filter({ hasText: 'Sample gene list' }).getByText('Installed').waitFor(LONG);
  await page.goto(`${demo.url}#/lanes`);
  await page.getByRole('button', { name: 'Pause genelist' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('new converter');
  await dialog.getByLabel('Ends').selectOption('hour');
  t.strictSame(await violations(page), [], 'the dialog');
  await picture(page, 'lanes-pause');
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByText('genelist is paused').waitFor();
  await page.getByText('by user 1: new converter').waitFor();
  await uploaded(demo, '1', 'Genes that wait');
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'Import', exact: true }) });
  await row.getByRole('cell').nth(1).getByText('1', { exact: true }).waitFor(LONG);
  t.strictSame(await violations(page), [], 'paused');
  await picture(page, 'lanes-paused');
  await page.getByRole('button', { name: 'Resume genelist' }).click();
  await page.getByText('genelist goes on').waitFor();
  await page.getByText('by user 1: new converter').waitFor({ state: 'detached' });
  await row.getByRole('cell').nth(1).getByText('0', { exact: true }).waitFor(LONG);
  t.strictSame(complaints, []);
});

t.test('a slider applies at once, and shows the lines that keep it', async (t) => {
  const { page, complaints } = await asOperator(t, chromium, demo, 'lanes');
  await page.getByText('All sizes are those of the configuration file.').waitFor();
  const slider = page.getByRole('slider', { name: /^workerCount/ });
  await slider.focus();
  await slider.press('ArrowRight');
  await slider.press('ArrowRight');
  await page.getByText('workerCount, running with 12').waitFor(LONG);
  await page.getByText('- workerCount: 10').waitFor();
  await page.getByText('+ workerCount: 12').waitFor();
  await page.getByLabel('Lane', { exact: true }).selectOption('install');
  const size = page.getByRole('slider', { name: /^inMemoryQueueSize/ });
  await size.focus();
  await size.press('Home');
  await page.getByText('inMemoryQueueSize, running with 1', { exact: true }).waitFor(LONG);
  await page.getByText('+ inMemoryQueueSize: 1').waitFor();
  t.equal(await page.getByText('+ workerCount: 12').count(), 1, 'that of the other lane stays');
  t.strictSame(await violations(page), [], 'a difference');
  await page.getByRole('button', { name: 'Reload the configuration' }).scrollIntoViewIfNeeded();
  await picture(page, 'lanes-slider');

  const file = join(demo.app.dir, 'config.yaml');
  const document = parseDocument(await readFile(file, 'utf8'));
  document.setIn(['installer', 'lanes', 'import', 'workerCount'], 12);
  await writeFile(file, document.toString());
  await page.getByRole('button', { name: 'Reload the configuration' }).click();
  await page.getByText('1 setting applied').waitFor();
  await page.getByText('from 1 to 5').waitFor();
  await page.getByText('inMemoryQueueSize, running with 5', { exact: true }).waitFor(LONG);
  await page.getByText('All sizes are those of the configuration file.').waitFor();
  await page.getByLabel('Lane', { exact: true }).selectOption('import');
  await page.getByText('workerCount, running with 12').waitFor();
  await picture(page, 'lanes-reloaded');
  t.strictSame(complaints, []);
});

t.test('the reconciler runs', async (t) => {
  const { page } = await asOperator(t, chromium, demo, 'lanes');
  await page.getByRole('button', { name: 'Start a full run' }).click();
  await page.getByText('A full run has begun').waitFor();
  await page.getByText('Ended', { exact: true }).waitFor(LONG);
  t.ok(await page.getByRole('button', { name: 'Run and delete' }).isDisabled(), 'nothing is missing');
});

for (const [name, options] of Object.entries(LOOKS))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await asOperator(t, chromium, demo, 'lanes', options);
    await page.getByRole('heading', { name: 'Reconciler' }).waitFor();
    await picture(page, `lanes-${name}`);
    await page.getByText(/^Daemons/).click();
    t.strictSame(await violations(page), []);
    t.ok(await fits(page));
    await page.getByRole('heading', { name: 'Disks' }).scrollIntoViewIfNeeded();
    await picture(page, `lanes-below-${name}`);
  });

t.test('an observer sees the lanes and cannot change them', async (t) => {
  const { page } = await asObserver(t, chromium, demo, 'lanes');
  await page.getByText('You are an observer').waitFor();
  for (const name of ['Pause genelist', 'Reload the configuration', 'Start a full run'])
    t.ok(await page.getByRole('button', { name }).isDisabled(), name);
});

t.test('says so if the routes for operators are served elsewhere', async (t) => {
  const { page } = await asOperator(t, chromium, demo, 'datasets');
  await page.route(/\/(admin\/|metrics$)/, (route) =>
    route.fulfill({ status: 404, json: { status: 'not-found', message: 'no such path' } }),
  );
  await page.goto(`${demo.url}#/lanes`);
  await page.getByText('The pages for operators are not served at this address').waitFor();
  t.strictSame(await violations(page), []);
  await picture(page, 'lanes-elsewhere');
});
