// The page of a dataset in a real browser: its life, its files, and what its owner does with it; a refused dataset is fixed by a
// revision.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import t from 'tap';
import { browser } from '../browser.ts';
import { demoConsole, PHONE, picture, violations, visit } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);

async function openDataset(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
  await page.getByRole('link', { name }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

/** Without a place to write to, as in Firefox: the browser downloads. */
const noPicker = (page: Page): Promise<void> => page.evaluate('delete window.showSaveFilePicker');

t.test('shows the life and the files of a dataset, and changes it', async (t) => {
  const { page, complaints } = await visit(t, chromium, demo.url);
  await noPicker(page);
  await openDataset(page, 'Sample gene list');
  await page.getByText('Checked and converted').waitFor();
  const life = page.getByRole('region', { name: 'What happened' });
  await life.getByText('Data on BetaDB', { exact: true }).waitFor();
  await page.locator('.page-head').getByText('Installed', { exact: true }).waitFor({ timeout: 60_000 });
  t.equal(await life.locator('.badge.good').count(), 6, 'every step on both sites is done');

  const uploaded = page.getByRole('list', { name: 'As uploaded' });
  const downloading = page.waitForEvent('download');
  await uploaded.getByRole('button', { name: 'Download sample-genes.txt' }).click();
  const downloaded = await readFile(await (await downloading).path());
  await page.getByText('sample-genes.txt saved; its SHA-256 is right').waitFor();
  t.match(await uploaded.innerText(), createHash('sha256').update(downloaded).digest('hex'), 'one file of the archive');
  const genes = downloaded.toString().trim().split('\n');
  t.equal(genes.length, 5_000);

  const ranges: (string | undefined)[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/files/upload')) ranges.push(request.headers().range);
  });
  await uploaded.getByRole('button', { name: 'First rows of sample-genes.txt' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('cell', { name: genes[99] ?? '' }).waitFor();
  t.equal(await dialog.getByRole('row').count(), 101, 'a heading and 100 rows');
  t.ok(ranges.length > 0 && ranges.every((range) => range?.startsWith('bytes=')), 'by ranges only');
  t.strictSame(await violations(page), [], 'the first rows');
  await picture(page, 'dataset-preview');
  await dialog.getByRole('button', { name: 'Close' }).click();

  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Name').fill('x');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText(/^It is 'x'|^It has 1/).waitFor();
  await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor();
  t.strictSame(await violations(page), [], 'the form with a fault');
  await picture(page, 'dataset-edit');
  await dialog.getByLabel('Name').fill('Sample gene list, edited');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sample gene list, edited' }).waitFor();

  await page.getByRole('button', { name: 'Share', exact: true }).click();
  await dialog.getByLabel('User id').fill('2');
  await dialog.getByRole('button', { name: 'Share' }).click();
  await page.getByText('Shared with user 2').waitFor();
  const shares = page.getByRole('region', { name: 'Shared with' });
  await shares.getByRole('button', { name: /^Stop sharing with/ }).click();
  await shares.getByText('Nobody yet.').waitFor();

  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { level: 2, name: 'This dataset is deleted' }).waitFor();
  t.strictSame(await violations(page), [], 'deleted');
  await page.getByRole('button', { name: 'Undelete' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sample gene list, edited' }).waitFor();
  t.strictSame(
    complaints.filter((text) => !/status of 4(10|22)/.test(text)),
    [],
  );
});

t.test('a dataset with invalid data is fixed by a revision', async (t) => {
  const { page } = await visit(t, chromium, demo.url);
  await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
  await page.getByRole('link', { name: 'Upload', exact: true }).click();
  await page.getByLabel('Type of data').selectOption('genelist@1.0');
  await page.getByRole('checkbox').first().check();
  await page.getByLabel('Name', { exact: true }).fill('With a mistake');
  await page.getByLabel('Summary').fill('A line has two genes');
  await page.getByLabel('Origin').fill('A laboratory');
  const choose = (text: string): Promise<void> =>
    page
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name: 'genes.txt', mimeType: 'text/plain', buffer: Buffer.from(text) });
  await choose('LS_0001\n\u0000\u0001\n');
  await page.getByText(/^Sent, /).waitFor();
  await page.getByRole('button', { name: 'Upload dataset' }).click();
  await page.getByText('The data are at fault.').waitFor({ timeout: 60_000 });
  t.strictSame(await violations(page), [], 'invalid data');
  await picture(page, 'dataset-invalid');

  await page.getByRole('button', { name: 'New revision' }).click();
  await page.getByRole('heading', { level: 1, name: 'New revision' }).waitFor();
  await choose('LS_0001\nLS_0007\n');
  await page.getByText(/^Sent, /).waitFor();
  await page.getByLabel('What is different').fill('The line is corrected');
  t.strictSame(await violations(page), [], 'the form of a revision');
  await picture(page, 'dataset-revise');
  await page.getByRole('button', { name: 'Upload revision' }).click();
  await page.getByText('Dataset created.').waitFor();
  await page.locator('.page-head').getByText('Installed', { exact: true }).waitFor({ timeout: 60_000 });
});

for (const [name, options] of Object.entries({
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: PHONE,
} as const))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await visit(t, chromium, demo.url, options);
    await openDataset(page, 'Sample gene list');
    await page.getByRole('list', { name: 'As uploaded' }).waitFor();
    t.strictSame(await violations(page), []);
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), page.viewportSize()?.width);
    await picture(page, `dataset-${name}`);
  });
