// The audit trail in a real browser: who did what, with filters.

import t from 'tap';
import { browser } from '../browser.ts';
import { asOperator, demoConsole, fits, LOOKS, picture, violations } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);

t.test('an order of an operator is in the trail, with its name', async (t) => {
  const { page, complaints } = await asOperator(t, chromium, demo, 'configuration/file');
  await page.getByRole('button', { name: 'debug' }).click();
  await page.getByText('The log level is debug').waitFor();
  await page.goto(`${demo.url}#/audit`);
  const row = page.getByRole('row').filter({ hasText: 'POST /admin/rpc/log/level' });
  await row.getByText('Operator 1').waitFor();
  await picture(page, 'audit-trail');
  await page.getByLabel('Route').fill('/datasets');
  await page.getByLabel('Route').press('Enter');
  await page.getByText(/^\d+ entr(y|ies)$/).waitFor();
  await row.waitFor({ state: 'detached' });
  t.match(page.url(), /#\/audit\?route=%2Fdatasets$/, 'the address has the filter');
  await page.getByLabel('From').fill('yesterday');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText("query parameter 'from' is").waitFor();
  t.strictSame(
    complaints.filter((text) => !/400/.test(text)),
    [],
  );
});

for (const [name, options] of Object.entries(LOOKS))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await asOperator(t, chromium, demo, 'audit', options);
    await page.getByText(/^\d+ entr(y|ies)/).waitFor();
    t.strictSame(await violations(page), []);
    t.ok(await fits(page));
    await picture(page, `audit-${name}`);
  });
