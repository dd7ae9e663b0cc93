// Reports in a real browser, of a real search: the options follow the format, the server's faults are beside their fields, a report
// is shown when it is made, large ones from their beginning, and who is given its address reads it as well.

import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import t from 'tap';
import { fetch } from 'undici';
import { browser } from '../browser.ts';
import { demoConsole, fits, LOOKS, picture, type Visit, violations, visit } from './console.ts';
import { grasses, searched } from './search.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);
const WAIT = { timeout: 60_000 };
const queryId = await searched(demo.app);

async function openReports(user: string, options = {}): Promise<Visit> {
  const seen = await visit(t, chromium, demo.url, options);
  await seen.page.evaluate('delete window.showSaveFilePicker');
  await seen.page.getByRole('button', { name: `Sign in as ${user}` }).click();
  await seen.page.getByRole('heading', { level: 1, name: 'My datasets' }).waitFor();
  await seen.page.goto(`${demo.url}#/reports`);
  await seen.page.getByRole('heading', { level: 1, name: 'Reports' }).waitFor();
  return seen;
}

/** From the list. */
async function fillIn(page: Page, format: string, title: string): Promise<void> {
  await page.getByRole('button', { name: 'New report' }).click();
  await page.getByLabel('Id of the search').fill(queryId);
  await page.getByLabel('Format').selectOption(format);
  await page.getByLabel('Title', { exact: true }).fill(title);
}

const request = (page: Page): Promise<void> => page.getByRole('button', { name: 'Request report' }).click();
const isDone = (page: Page): Promise<void> =>
  page.locator('.page-head').getByText('Done', { exact: true }).waitFor(WAIT);

t.test('the options follow the format, and faults are beside their fields', async (t) => {
  const { page, complaints } = await openReports('Demo User');
  await page.getByRole('heading', { name: 'You have no reports yet' }).waitFor();
  t.strictSame(await violations(page), [], 'no reports');
  await picture(page, 'reports-none');
  await page.getByRole('button', { name: 'New report' }).click();
  await page.getByLabel('Line length').fill('0');
  await page.getByLabel('Sequences with alignments').fill('many');
  await page.getByLabel('Sequences at most').fill('10');
  await page.getByLabel('Id of the search').fill('ab'.repeat(16));
  await request(page);
  await page.getByRole('heading', { name: 'The report was not requested' }).waitFor();
  for (const [field, fault] of [
    ['Id of the search', /^It is no query job\.$/],
    ['Line length', /^It is 0; /],
    ['Sequences with alignments', /^It .*'many'/],
    ['Sequences at most', /^It excludes 'Sequences with alignments'/],
  ] as const) {
    const at = page.locator('.field').filter({ has: page.getByLabel(field, { exact: true }) });
    t.match(await at.locator('.fault').innerText(), fault, field);
  }
  await page.getByLabel('Id of the search').and(page.locator(':focus')).waitFor();
  t.strictSame(await violations(page), [], 'with faults');
  await picture(page, 'reports-faults');

  await page.getByLabel('Format').selectOption('organism-report');
  t.equal(await page.getByLabel('Line length').count(), 0, 'it is no option of this format');
  await page.getByLabel('Take names from definition lines').waitFor();
  await page.getByLabel('Format').selectOption('sam');
  await page.getByText('Choose columns').click();
  t.equal(await page.getByRole('group', { name: 'Columns' }).getByRole('checkbox').count(), 2);
  await page.getByLabel('Format').selectOption('xml');
  t.equal(await page.getByRole('group', { name: 'Columns' }).count(), 0);
  await page.getByLabel('Id of the search').fill(queryId);
  await page.getByLabel('Sequences with alignments').fill('');
  await request(page);
  await page.getByText('Report requested.').waitFor();
  await isDone(page);
  t.strictSame(
    complaints.filter((text) => !/status of 422/.test(text)),
    [],
    'what is no option of the format was not sent',
  );
});

t.test('a table has the columns that were chosen; somebody who has the address reads it', async (t) => {
  const { page, complaints } = await openReports('Demo User');
  await fillIn(page, 'tabular', 'Leaf genes as a table');
  await page.getByText('Choose columns').click();
  for (const column of ['sseqid', 'evalue', 'pident']) await page.getByLabel(new RegExp(`^${column} `)).check();
  await page.getByLabel(/^evalue /).uncheck();
  await page.getByText('In this order: sseqid pident').waitFor();
  await page.getByLabel('Sequences at most').fill('120');
  t.strictSame(await violations(page), [], 'the form of a table');
  await picture(page, 'reports-columns');
  await request(page);
  await isDone(page);
  const table = page.getByRole('region', { name: 'Contents of report.tsv' }).getByRole('table');
  await table.getByRole('columnheader', { name: 'pident' }).waitFor();
  t.strictSame(await table.getByRole('columnheader').allInnerTexts(), ['Line', 'sseqid', 'pident']);
  t.equal(await table.getByRole('row').count(), 101, 'a heading and 100 rows');
  await page.getByText('The first 100 rows.').waitFor();
  t.strictSame(await violations(page), [], 'a table');
  await picture(page, 'reports-table');

  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download report.tsv' }).click();
  const rows = (await readFile(await (await downloading).path(), 'utf8')).trim().split('\n');
  t.equal(rows.length, 120);
  t.match(rows[0], /^grass\d+\t[\d.]+$/);

  await page.getByRole('button', { name: 'Edit notes' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Title', { exact: true }).fill('x'.repeat(513));
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText(/^It .*513/).waitFor();
  t.strictSame(await violations(page), [], 'notes with a fault');
  await dialog.getByLabel('Title', { exact: true }).fill('Leaf genes, 120 of them');
  await dialog.getByLabel('Notes').fill('For the figure');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Leaf genes, 120 of them' }).waitFor();

  const address = page.url();
  const other = (await openReports('Sam Reader')).page;
  await other.goto(address);
  await other.getByRole('columnheader', { name: 'pident' }).waitFor();
  t.equal(await other.getByText('For the figure').count(), 0, 'notes are their own');
  await other.getByRole('link', { name: 'All reports' }).click();
  await other.getByText('1 report', { exact: true }).waitFor();
  await other.getByRole('link', { name: /^Report / }).click();
  await other.getByRole('button', { name: 'Remove from my list' }).click();
  await dialogOf(other).getByRole('button', { name: 'Remove from my list' }).click();
  await other.getByRole('heading', { name: 'You have no reports yet' }).waitFor();
  t.strictSame(
    complaints.filter((text) => !/status of 422/.test(text)),
    [],
  );
});

t.test('the usual columns are told in words', async (t) => {
  const { page } = await openReports('Demo User');
  await fillIn(page, 'csv', 'Leaf genes with the usual columns');
  await page.getByText('Choose columns').click();
  for (const column of ['std', 'qlen']) await page.getByLabel(new RegExp(`^${column} `)).check();
  await request(page);
  await isDone(page);
  await page.getByText('std (the twelve usual columns), qlen (query length)', { exact: true }).waitFor();
  await page.getByRole('columnheader', { name: 'bitscore' }).waitFor();
  t.strictSame(await violations(page), []);
});

const dialogOf = (page: Page) => page.getByRole('dialog');

t.test('a large text is shown from its beginning, and one that expired is made again', async (t) => {
  const { page } = await openReports('Demo User');
  await fillIn(page, 'pairwise', 'All leaf genes');
  const ranges: (string | undefined)[] = [];
  page.on('request', (sent) => {
    if (sent.url().endsWith('/files/report.txt') && sent.method() === 'GET') ranges.push(sent.headers().range);
  });
  await request(page);
  await isDone(page);
  await page.getByText('The first 200 kB. Download the file for the rest.').waitFor();
  t.strictSame(ranges, ['bytes=0-199999']);
  const shown = page.getByRole('region', { name: 'Contents of report.txt' }).locator('pre');
  t.match(await shown.innerText(), /^BLASTN/);
  t.ok((await shown.innerText()).length < 200_000);
  t.strictSame(await violations(page), [], 'a text');
  await picture(page, 'reports-text');

  const id = page.url().split('/').at(-1);
  const { report, adminToken } = demo.app.endpoints;
  const expired = await fetch(`${report}/maintenance/cache/${id}`, {
    method: 'DELETE',
    headers: { 'Admin-Token': adminToken },
  });
  t.equal(expired.status, 204);
  await page.getByRole('link', { name: 'All reports' }).click();
  await page.getByRole('row').filter({ hasText: 'All leaf genes' }).getByText('Expired', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'All leaf genes' }).click();
  await page.getByRole('heading', { name: 'The files of this report are gone' }).waitFor();
  t.strictSame(await violations(page), [], 'expired');
  await picture(page, 'reports-expired');
  await page.getByRole('button', { name: 'Make it again' }).click();
  await isDone(page);
  await shown.waitFor();
});

for (const [name, options] of Object.entries(LOOKS))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await openReports('Demo User', options);
    await page.getByRole('link', { name: 'Leaf genes, 120 of them' }).waitFor();
    t.strictSame(await violations(page), [], 'the list');
    t.ok(await fits(page), 'the list');
    await picture(page, `reports-${name}`);
    await page.getByRole('link', { name: 'Leaf genes, 120 of them' }).click();
    await page.getByRole('columnheader', { name: 'pident' }).waitFor();
    t.strictSame(await violations(page), [], 'a report');
    t.ok(await fits(page), 'a report');
    await picture(page, `report-${name}`);
    await page.getByRole('button', { name: 'Another format' }).click();
    t.equal(await page.getByLabel('Id of the search').inputValue(), queryId);
    await page.getByLabel('Format').selectOption('csv');
    await page.getByText('Choose columns').click();
    t.strictSame(await violations(page), [], 'a new report');
    t.ok(await fits(page), 'a new report');
    await picture(page, `report-new-${name}`);
  });

t.test('one that cannot be made says why', async (t) => {
  const { page } = await openReports('Demo User');
  await grasses(demo.app, 5);
  await fillIn(page, 'csv', 'Of another database');
  await request(page);
  await page.getByRole('heading', { name: 'The report could not be made' }).waitFor(WAIT);
  await page.getByText(/^a database was rebuilt since the query job/).waitFor();
  t.strictSame(await violations(page), [], 'failed');
  await picture(page, 'reports-failed');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Asked again.').waitFor();
});

t.test('says that there is no report service', async (t) => {
  const { page } = await visit(t, chromium, demo.url);
  await page.route('**/console/settings.json', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), services: {} } });
  });
  await page.reload();
  await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
  await page.getByRole('link', { name: 'Reports', exact: true }).click();
  await page.getByText('Reports are not part of this installation').waitFor();
  t.strictSame(await violations(page), []);
});
