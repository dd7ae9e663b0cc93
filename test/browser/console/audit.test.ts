// Audit and configuration in a real browser: who did what, the log level, a reload with what differs, and one that is refused.

import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parseDocument } from 'yaml';
import { browser } from '../browser.ts';
import { asObserver, asOperator, demoConsole, fits, LOOKS, picture, violations } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);
const file = join(demo.app.dir, 'config.yaml');
const original = readFileSync(file, 'utf8');

/** Changes one setting of the original file. */
async function writeSetting(path: readonly string[], value: unknown): Promise<void> {
  const document = parseDocument(original);
  document.setIn(path, value);
  await writeFile(file, document.toString());
}

t.test('the log level is changed, and the trail says by whom', async (t) => {
  const { page, complaints } = await asOperator(t, chromium, demo, 'audit/configuration');
  await page.getByRole('button', { name: 'debug' }).click();
  await page.getByText('The log level is debug').waitFor();
  await page.getByRole('button', { name: 'debug', disabled: true }).waitFor();
  await page.getByRole('link', { name: 'Who did what' }).click();
  const row = page.getByRole('row').filter({ hasText: 'POST /admin/rpc/log/level' });
  await row.getByText('Operator 1').waitFor();
  await picture(page, 'audit-trail');
  await page.getByLabel('Route').fill('/datasets');
  await page.getByLabel('Route').press('Enter');
  await page.getByText(/^\d+ entr(y|ies)$/).waitFor();
  await row.waitFor({ state: 'detached' });
  t.match(page.url(), /#\/audit\/trail\?route=%2Fdatasets$/, 'the address has the filter');
  await page.getByLabel('From').fill('yesterday');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText("query parameter 'from' is").waitFor();
  t.strictSame(
    complaints.filter((text) => !/400/.test(text)),
    [],
  );
});

t.test('a reload shows what differs, and refuses a file with faults', async (t) => {
  const { page } = await asOperator(t, chromium, demo, 'audit/configuration');
  await writeSetting(['installer', 'lanes', 'import', 'workerCount'], 7);
  await page.getByRole('button', { name: 'Reload the configuration' }).click();
  await page.getByText('from 10 to 7').waitFor();
  await page.getByText('from debug to info').waitFor();
  await page.getByRole('button', { name: 'debug', disabled: false }).waitFor();
  await picture(page, 'audit-reloaded');
  await writeSetting(['installer', 'lanes', 'import', 'workerCount'], 0);
  await page.getByRole('button', { name: 'Reload the configuration' }).click();
  await page.getByText('the configuration file has faults; nothing was changed').waitFor();
  await page.getByText('installer.lanes.import.workerCount').waitFor();
  t.strictSame(await violations(page), [], 'a file with faults');
  await picture(page, 'audit-faulty');
});

for (const [name, options] of Object.entries(LOOKS))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await asOperator(t, chromium, demo, 'audit', options);
    await page.getByText(/^\d+ entr(y|ies)/).waitFor();
    t.strictSame(await violations(page), [], 'trail');
    t.ok(await fits(page));
    await picture(page, `audit-${name}`);
    await page.getByRole('link', { name: 'Configuration', exact: true }).click();
    await page.getByRole('heading', { name: 'Log level' }).waitFor();
    t.strictSame(await violations(page), [], 'configuration');
    t.ok(await fits(page));
    await picture(page, `audit-configuration-${name}`);
  });

t.test('an observer reads and changes nothing', async (t) => {
  const { page } = await asObserver(t, chromium, demo, 'audit/configuration');
  await page.getByText('You are an observer').waitFor();
  for (const name of ['Reload the configuration', 'trace'])
    t.ok(await page.getByRole('button', { name }).isDisabled(), name);
});
