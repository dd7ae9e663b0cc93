// Configuration in a real browser: what runs, what a reload would change and did, the log level, and the log of a dataset.

import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parseDocument } from 'yaml';
import { browser } from '../browser.ts';
import { asObserver, asOperator, demoConsole, fits, LOOKS, picture, uploaded, violations } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);
const file = join(demo.app.dir, 'config.yaml');
const original = readFileSync(file, 'utf8');
const LONG = { timeout: 60_000 };

/** Changes one setting of the original file. */
async function writeSetting(path: readonly string[], value: unknown): Promise<void> {
  const document = parseDocument(original);
  document.setIn(path, value);
  await writeFile(file, document.toString());
}

t.test('the running settings are found by words, without secrets', async (t) => {
  const { page, complaints } = await asOperator(t, chromium, demo, 'configuration');
  await page.getByText('not reloaded since the start').waitFor();
  await page.getByLabel('Search').fill('import workercount');
  const row = page.getByRole('row').filter({ hasText: 'installer.lanes.import.workerCount' });
  await row.locator('code').getByText('10', { exact: true }).waitFor();
  await row.getByText('Reload').waitFor();
  t.match(page.url(), /q=import\+workercount/, 'the address has the words');
  await page.getByLabel('Search').fill('password');
  await page
    .getByRole('row')
    .filter({ hasText: 'installer.cacheDb.password' })
    .locator('code')
    .getByText('[hidden]')
    .waitFor();
  await picture(page, 'configuration-search');
  await page.getByLabel('Search').fill('no such setting');
  await page.getByRole('heading', { name: 'No setting matches' }).waitFor();
  await page.getByRole('button', { name: 'Show all settings' }).click();
  await page.getByLabel('Which').selectOption('live');
  await page.getByText(/^\d+ of \d+ settings$/).waitFor();
  t.strictSame(complaints, []);
});

t.test('what a reload would change is shown before it, and what it changed after it', async (t) => {
  const { page } = await asOperator(t, chromium, demo, 'configuration/file');
  await page.getByText('The file says what runs.').waitFor();
  await page.getByRole('button', { name: 'debug' }).click();
  await page.getByText('The log level is debug').waitFor();
  await page.getByRole('button', { name: 'debug', disabled: true }).waitFor();
  await page.goto(`${demo.url}#/configuration/settings?only=set`);
  await page.locator('.badge').getByText('Set until the next reload').waitFor();
  await page.goto(`${demo.url}#/configuration/file`);
  await writeSetting(['installer', 'lanes', 'import', 'workerCount'], 7);
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByText('2 settings of the file differ from what runs.').waitFor();
  await page.getByText('A reload would change these now:').waitFor();
  await page.getByText('from 10 to 7').waitFor();
  t.strictSame(await violations(page), [], 'a difference');
  await picture(page, 'configuration-difference');
  await page.getByRole('button', { name: 'Reload the configuration' }).click();
  await page.getByText('2 settings applied').waitFor();
  await page.getByText('The file says what runs.').waitFor();
  await page.getByText('from 10 to 7').waitFor();
  await page.getByText('from debug to info').waitFor();
  await page.getByRole('button', { name: 'debug', disabled: false }).waitFor();
  await picture(page, 'configuration-reloaded');
  await page.getByRole('link', { name: 'Running settings' }).click();
  await page.getByText('reloaded 1 time').waitFor();
  await page.goto(`${demo.url}#/configuration/file`);
  await writeSetting(['installer', 'lanes', 'import', 'workerCount'], 0);
  await page.getByRole('button', { name: 'Reload the configuration' }).click();
  await page.getByText('the configuration file has faults; nothing was changed').waitFor();
  await page.getByText('installer.lanes.import.workerCount').first().waitFor();
  t.strictSame(await violations(page), [], 'a file with faults');
  await picture(page, 'configuration-faulty');
  await writeFile(file, original);
  await page.getByRole('button', { name: 'Reload the configuration' }).click();
  await page.getByText('from 7 to 10').waitFor();
});

t.test('the log of a dataset is shown, the newest record first', async (t) => {
  const script = join(demo.app.dir, 'plugins', 'genelist', 'import');
  const before = readFileSync(script, 'utf8');
  // Other programs may be starting the script, so it is replaced by a whole one.
  await writeFile(script, '#!/bin/sh\nexit 7\n');
  await chmod(script, 0o755);
  await uploaded(demo, '1', 'Genes that fail');
  const { page, complaints } = await asOperator(t, chromium, demo, 'problems');
  await page.getByText('1 problem of 1 cause').waitFor(LONG);
  await writeFile(script, before);
  await page.getByRole('link', { name: 'Show it' }).click();
  await page.getByRole('row').nth(1).getByRole('link').click();
  const heading = await page.getByRole('heading', { level: 1, name: /^Dataset / }).innerText();
  const dataset = heading.replace('Dataset ', '');
  await page.goto(`${demo.url}#/configuration/log`);
  await page.getByRole('heading', { name: 'Enter a dataset or a request' }).waitFor();
  await page.getByLabel('Dataset').fill(dataset);
  await page.getByLabel('Dataset').press('Enter');
  const records = page.getByRole('list', { name: 'Log records, the newest first' });
  await records.getByText('job failed').first().waitFor();
  await records.getByText('exitCode').first().waitFor();
  t.strictSame(await violations(page), [], 'records');
  await picture(page, 'configuration-log');
  await page.getByRole('link', { name: 'History of the dataset' }).click();
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  await page.goto(`${demo.url}#/configuration/log?request=none-such`);
  await page.getByRole('heading', { name: 'Nothing is kept about it' }).waitFor();
  t.strictSame(complaints, []);
});

for (const [name, options] of Object.entries(LOOKS))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await asOperator(t, chromium, demo, 'configuration', options);
    await page.getByText(/^\d+ settings$/).waitFor();
    for (const [view, shown] of [
      ['settings', page.getByText(/^\d+ settings$/)],
      ['file', page.getByRole('heading', { name: 'Log level' })],
      ['log', page.getByRole('heading', { name: 'Enter a dataset or a request' })],
    ] as const) {
      await page.goto(`${demo.url}#/configuration/${view}`);
      await shown.waitFor();
      t.strictSame(await violations(page), [], view);
      t.ok(await fits(page), view);
      await picture(page, `configuration-${view}-${name}`);
    }
  });

t.test('an observer reads and changes nothing', async (t) => {
  const { page } = await asObserver(t, chromium, demo, 'configuration/file');
  await page.getByText('You are an observer').waitFor();
  for (const name of ['Reload the configuration', 'trace'])
    t.ok(await page.getByRole('button', { name }).isDisabled(), name);
});
