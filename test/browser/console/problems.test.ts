// Problems in a real browser: an import script breaks, an operator finds its failures by cause, reads what it printed, repairs
// it, retries all, and discards one.

import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { browser } from '../browser.ts';
import { asObserver, asOperator, demoConsole, fits, LOOKS, picture, uploaded, violations } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);
const script = join(demo.app.dir, 'plugins', 'genelist', 'import');
const repaired = readFileSync(script, 'utf8');
const LONG = { timeout: 60_000 };

/** Other programs may be starting the script, so it is replaced by a whole one. */
async function replaceScript(text: string): Promise<void> {
  await writeFile(script, text);
  await chmod(script, 0o755);
}

t.test('failures are grouped by cause, and each attempt shows what was printed', async (t) => {
  const { page, complaints } = await asOperator(t, chromium, demo, 'datasets');
  // The dataset of the demo needs the script as well.
  await page.getByRole('row').filter({ hasText: 'Sample gene list' }).getByText('Installed').waitFor(LONG);
  await replaceScript('#!/bin/sh\necho "reading genes"\necho "the converter is missing" >&2\nexit 7\n');
  for (const name of ['Genes A', 'Genes B', 'Genes C']) await uploaded(demo, '1', name);
  await page.goto(`${demo.url}#/problems`);
  await page.getByText('3 problems of 1 cause', { exact: true }).waitFor(LONG);
  await picture(page, 'problems-causes');
  await page.getByRole('link', { name: 'Show all 3' }).click();
  await page.getByText('3 problems', { exact: true }).waitFor();
  t.match(page.url(), /cause=script\+PATH\+ended/, 'the address has the cause');
  t.strictSame(await page.getByRole('row').getByRole('link').allInnerTexts(), ['Genes A', 'Genes B', 'Genes C']);
  await picture(page, 'problems-list');
  await page.getByRole('row').nth(1).getByRole('link').click();
  await page.getByRole('heading', { level: 1, name: /^Dataset / }).waitFor();
  await page.getByText('the converter is missing').waitFor();
  await page.locator('summary', { hasText: 'exit code 7' }).waitFor();
  t.strictSame(await violations(page), [], 'the life of a dataset');
  await picture(page, 'problems-history');
  t.strictSame(complaints, []);
});

for (const [name, options] of Object.entries(LOOKS))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await asOperator(t, chromium, demo, 'problems', options);
    await page.getByText('3 problems of 1 cause').waitFor();
    t.strictSame(await violations(page), [], 'causes');
    t.ok(await fits(page));
    await picture(page, `problems-causes-${name}`);
    await page.goto(`${demo.url}#/problems/list`);
    await page.getByText('3 problems', { exact: true }).waitFor();
    t.strictSame(await violations(page), [], 'list');
    t.ok(await fits(page));
    await picture(page, `problems-list-${name}`);
    await page.getByRole('row').nth(1).getByRole('link').click();
    await page.getByText('the converter is missing').waitFor();
    t.strictSame(await violations(page), [], 'history');
    t.ok(await fits(page));
    await picture(page, `problems-history-${name}`);
    await page.goto(`${demo.url}#/problems/jobs`);
    await page.getByRole('heading', { name: 'No job waits or runs' }).waitFor();
    t.strictSame(await violations(page), [], 'no jobs');
    await picture(page, `problems-jobs-${name}`);
  });

t.test(
  'more causes than a page shows are told of, and an address without such a view is that of the first',
  async (t) => {
    const { page, complaints } = await asOperator(t, chromium, demo, 'problems');
    await page.getByText('3 problems of 1 cause').waitFor();
    await page.route('**/admin/problems/causes?*', async (route) => {
      const answer = await route.fetch();
      const { results } = await answer.json();
      const many = Array.from({ length: 200 }, (_, n) => ({ ...results[0], cause: `cause ${n}`, count: 2 }));
      await route.fulfill({ response: answer, json: { results: many } });
    });
    // A name that every object has.
    await page.goto(`${demo.url}#/problems/constructor?lane=import`);
    await page.getByText('400 problems of the 200 most frequent causes. To see others, use a filter').waitFor();
    await page.getByRole('link', { name: 'By cause' }).and(page.locator('[aria-current=true]')).waitFor();
    t.strictSame(await violations(page), []);
    t.strictSame(complaints, []);
  },
);

t.test('an observer sees the problems and cannot change them', async (t) => {
  const { page } = await asObserver(t, chromium, demo, 'problems');
  await page.getByText('3 problems of 1 cause').waitFor();
  await page.getByText('You are an observer').waitFor();
  t.ok(await page.getByRole('button', { name: 'Retry' }).isDisabled());
  t.ok(await page.getByRole('button', { name: 'Discard' }).isDisabled());
  t.strictSame(await violations(page), []);
  await picture(page, 'problems-observer');
});

t.test('one is discarded with a reason; the others are retried when the script is repaired', async (t) => {
  const { page, complaints } = await asOperator(t, chromium, demo, 'problems/list');
  await page.getByText('3 problems', { exact: true }).waitFor();
  await page.getByRole('row').nth(1).getByRole('checkbox').check();
  await page.getByText('1 problem selected').waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 problem matches').waitFor();
  await dialog.getByRole('button', { name: 'Discard 1 problem' }).click();
  await dialog.getByText('Enter a reason').waitFor();
  t.strictSame(await violations(page), [], 'the dialog with a fault');
  await picture(page, 'problems-discard');
  await dialog.getByLabel('Reason').fill('a test upload');
  await dialog.getByRole('button', { name: 'Discard 1 problem' }).click();
  await page.getByText('1 problem discarded.').waitFor();
  await page.getByText('2 problems', { exact: true }).waitFor();

  await replaceScript(repaired);
  await page.getByRole('link', { name: 'By cause' }).click();
  await page.getByText('2 problems of 1 cause').waitFor();
  await page.getByRole('button', { name: 'Retry' }).click();
  await dialog.getByText('2 problems match').waitFor();
  await picture(page, 'problems-retry');
  await dialog.getByRole('button', { name: 'Retry 2 problems' }).click();
  await page.getByText('2 problems retried.').waitFor();
  await page.getByRole('heading', { name: 'Nothing failed' }).waitFor(LONG);
  t.strictSame(await violations(page), [], 'nothing failed');
  await picture(page, 'problems-none');
  t.strictSame(complaints, []);
});

t.test('a running job is cancelled', async (t) => {
  await replaceScript('#!/bin/sh\nexec sleep 600\n');
  await uploaded(demo, '1', 'Genes that hang');
  const { page, complaints } = await asOperator(t, chromium, demo, 'problems/jobs');
  const row = page.getByRole('row').filter({ hasText: 'Import' });
  await row.getByText('Running').waitFor(LONG);
  await picture(page, 'problems-running');
  await row.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Cancel 1 job' }).click();
  t.strictSame(await violations(page), [], 'the question before');
  await page.getByRole('dialog').getByLabel('Reason').fill('it hangs');
  await picture(page, 'problems-cancel');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel 1 job' }).click();
  await page.getByText('1 job told to end').waitFor();
  await page.getByRole('row').getByText('Dead').waitFor(LONG);
  t.strictSame(await violations(page), [], 'a table of jobs');
  t.strictSame(complaints, []);
});
