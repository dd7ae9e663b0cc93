// Upload in a real browser: a scientist pauses, reloads the page in the middle, chooses the file again and goes on; the server's
// faults are beside their fields; the dataset is installed.

import { appendFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { tempDir } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { demoConsole, PHONE, picture, slow, violations, visit } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);
const GENES = 'LS_0001\nLS_0007\nLS_0042\n';

async function openUpload(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
  await page.getByRole('link', { name: 'Upload', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Upload' }).waitFor();
  await page.getByLabel('Type of data').waitFor();
}

t.test('pauses, reloads in the middle, goes on, and becomes a dataset', async (t) => {
  const file = join(await tempDir(t), 'slow.txt');
  await writeFile(file, '');
  for (let part = 0; part < 40; part += 1)
    await appendFile(file, Array.from({ length: 10_000 }, (_, i) => `LS_${part}_${i}\n`).join(''));
  const { page, complaints } = await visit(t, chromium, demo.url);
  await openUpload(page);
  await page.getByLabel('Name', { exact: true }).fill('Kept over a reload');
  await slow(page, 200_000);
  await page.locator('input[type=file]').first().setInputFiles(file);
  await page.getByText(/per second, .* left/).waitFor({ timeout: 60_000 });
  t.strictSame(await violations(page), [], 'while a file is sent');
  await picture(page, 'upload-sending');
  await page.getByRole('button', { name: 'Pause slow.txt' }).click();
  await page.getByText(/^Paused: /).waitFor();
  await page.getByRole('button', { name: 'Resume slow.txt' }).click();
  await page.getByText(/^Sending: .*per second/).waitFor({ timeout: 60_000 });

  await page.reload();
  await openUpload(page);
  t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Kept over a reload');
  await page.getByText(/The server has \d+ %\. Choose the same file again/).waitFor();
  await picture(page, 'upload-found');
  await slow(page, -1);
  await page.locator('input[type=file]').first().setInputFiles(file);
  await page.getByText(/^Sent, /).waitFor({ timeout: 60_000 });

  await page.getByRole('button', { name: 'Upload dataset' }).click();
  await page.getByRole('heading', { name: 'The dataset was not created' }).waitFor();
  for (const field of ['Type of data', 'Summary', 'Origin'])
    t.equal(await page.getByLabel(field).getAttribute('aria-invalid'), 'true', `${field} is missing`);
  t.equal(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), null);
  await page.getByLabel('Type of data').selectOption('genelist@1.0');
  await page.getByRole('checkbox').first().check();
  await page.getByLabel('Summary').fill('Sent in two parts');
  await page.getByLabel('Origin').fill('A');
  await page.getByRole('button', { name: 'Upload dataset' }).click();
  await page.getByText(/^It has 1 character|^It is 'A'/).waitFor();
  t.equal(
    await page.getByLabel('Origin').getAttribute('aria-invalid'),
    'true',
    "the server's fault is beside its field",
  );
  t.strictSame(await violations(page), [], 'with faults');
  await picture(page, 'upload-faults');
  await page.getByLabel('Origin').fill('A laboratory');
  await page.getByRole('button', { name: 'Upload dataset' }).click();
  await page.getByText('Dataset created.').waitFor();
  t.match(page.url(), /#\/dataset\/\w+/);
  await page.getByRole('link', { name: 'My datasets' }).click();
  const row = page.getByRole('row').filter({ hasText: 'Kept over a reload' });
  await row.getByText('Installed', { exact: true }).waitFor({ timeout: 60_000 });
  t.strictSame(
    complaints.filter((text) => !/status of 422/.test(text)),
    [],
  );
});

t.test('a file that was changed is another one, also with the same size', async (t) => {
  const file = join(await tempDir(t), 'typo.txt');
  const { page } = await visit(t, chromium, demo.url);
  await openUpload(page);
  const input = page.locator('input[type=file]').first();
  const sent = page.getByText(/^Sent, /);
  const choose = async (genes: string, changedAt: Date): Promise<void> => {
    await writeFile(file, genes);
    await utimes(file, changedAt, changedAt);
    await input.setInputFiles(file);
  };
  const before = new Date('2026-01-01T00:00:00Z');
  await choose('LS_0001\nLS_O007\n', before);
  await sent.waitFor();
  await choose('LS_0001\nLS_O007\n', before);
  await choose('LS_0001\nLS_0007\n', new Date('2026-01-02T00:00:00Z'));
  await sent.nth(1).waitFor();
  t.equal(await sent.count(), 2, 'the one that was chosen twice counts once');
});

t.test('after a reload, a file that was changed meanwhile is sent from its beginning', async (t) => {
  const file = join(await tempDir(t), 'halves.txt');
  await writeFile(file, 'LS_0001\n'.repeat(400_000));
  const { page } = await visit(t, chromium, demo.url);
  await openUpload(page);
  const starts: (string | undefined)[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') starts.push(request.headers()['upload-offset']);
  });
  const input = page.locator('input[type=file]').first();
  await slow(page, 200_000);
  await input.setInputFiles(file);
  await page.getByText(/per second, .* left/).waitFor({ timeout: 60_000 });
  await page.reload();
  await openUpload(page);
  const found = page.getByRole('list', { name: 'From an earlier visit' }).getByText(/Choose the same file again/);
  await found.waitFor();
  await writeFile(file, 'LS_0002\n'.repeat(400_000));
  await utimes(file, new Date(), new Date('2026-01-02T00:00:00Z'));
  starts.length = 0;
  await slow(page, -1);
  await input.setInputFiles(file);
  await page.getByText(/^Sent, /).waitFor({ timeout: 60_000 });
  t.equal(starts[0], '0');
  t.ok(await found.isVisible(), 'the beginning of the other one is still there');
  await page.evaluate('localStorage.clear()');
  await page.reload();
  await openUpload(page);
  await page.getByText('Continue where it was begun, or remove it.').waitFor();
});

t.test('a lost answer is asked for again, and there is one dataset', async (t) => {
  const { page } = await visit(t, chromium, demo.url);
  await openUpload(page);
  await page.getByLabel('Type of data').selectOption('genelist@1.0');
  await page.getByRole('checkbox').first().check();
  await page.getByLabel('Name', { exact: true }).fill('Answer lost');
  await page.getByLabel('Summary').fill('Created once');
  await page.getByLabel('Origin').fill('A laboratory');
  await page
    .locator('input[type=file]')
    .first()
    .setInputFiles({ name: 'genes.txt', mimeType: 'text/plain', buffer: Buffer.from(GENES) });
  await page.getByText(/^Sent, /).waitFor();
  const keys: (string | undefined)[] = [];
  await page.route('**/datasets', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length > 1) return route.continue();
    // The server has it; the page never hears of that.
    await route.fetch();
    return route.abort();
  });
  await page.getByRole('button', { name: 'Upload dataset' }).click();
  await page.getByText('The server could not be reached.').first().waitFor();
  await page.getByRole('button', { name: 'Upload dataset' }).click();
  await page.getByText('Dataset created.').waitFor();
  t.equal(keys.length, 2);
  t.equal(keys[0], keys[1], 'with the same key');
  await page.getByRole('link', { name: 'My datasets' }).click();
  const rows = page.getByRole('row').filter({ hasText: 'Answer lost' });
  await rows.first().waitFor();
  t.equal(await rows.count(), 1);
});

t.test('marks what the chosen sites require, and a file that the type does not take', async (t) => {
  const { page } = await visit(t, chromium, demo.url);
  const required = { BetaDB: ['projectName', 'experimentalOrganism', 'datasetCharacteristics.studyType'] };
  await page.route('**/service-meta', async (route) => {
    const meta = await (await route.fetch()).json();
    for (const target of meta.configuration.installTargets)
      target.requiredFields = required[target.id as keyof typeof required];
    await route.fulfill({ json: meta });
  });
  await openUpload(page);
  const marked = async (): Promise<readonly string[]> =>
    (await page.locator('[data-required] > :first-child').allInnerTexts()).map((text) =>
      (text.split('\n')[0] ?? '').trim(),
    );
  const ALWAYS = ['Type of data', 'Install on', 'Name', 'Summary', 'Origin'];
  t.strictSame(await marked(), ALWAYS);
  await page.getByLabel('AlphaDB').check();
  t.strictSame(await marked(), ALWAYS);
  await page.getByLabel('BetaDB').check();
  t.strictSame(await marked(), [...ALWAYS, 'Project', 'Species', 'Strain', 'Study type']);
  await page.getByLabel('Email').fill('me@example.org');
  t.equal(await page.getByLabel('Country').getAttribute('aria-required'), 'true', 'a contact is whole or none');

  await page.getByLabel('Type of data').selectOption('rnaseq@1.0');
  const choose = (name: string): Promise<void> =>
    page
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(GENES) });
  await choose('genes.xlsx');
  const files = page.getByRole('list', { name: 'Files' });
  await files.getByText(/^This type takes .*\.txt, .*, or a single archive/).waitFor();
  await choose('genes.txt');
  await page.getByRole('button', { name: 'Remove genes.xlsx' }).click();
  t.equal(await files.getByText(/^This type takes/).count(), 0);
  await page.getByRole('button', { name: 'Upload dataset' }).click();
  await page.getByRole('heading', { name: 'The dataset was not created' }).waitFor();
  t.equal(await page.getByText('This is required.').count(), 11, 'what is marked and empty, and nothing else');
  t.strictSame(await violations(page), [], 'with marks');
  await picture(page, 'upload-required');
});

for (const [name, options] of Object.entries({
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: PHONE,
} as const))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await visit(t, chromium, demo.url, options);
    await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
    await page.getByRole('heading', { name: 'My datasets' }).waitFor();
    await page.goto(`${demo.url}#/upload`);
    await page.getByLabel('Type of data').selectOption('genelist@1.0');
    t.strictSame(await violations(page), []);
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), page.viewportSize()?.width);
    await picture(page, `upload-${name}`);
  });
