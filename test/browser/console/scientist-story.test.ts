// What a scientist does in the console, from beginning to end, in a real browser: an upload is cut when the server is killed, goes
// on by itself, and turns out to be the wrong file; a revision fixes it; it is shared. A second person asks for access, gets it for
// a day, downloads, and has it no more when the day is over.
//
// LONGSHORE_STORY_MB is the size of the upload, 1,073.741824 MB at most (`maxUploadSize`).

import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import type { Page } from 'playwright-core';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { freePortBase, tempDir, up } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { fits, PHONE, picture, slow, type Visit, violations, visit } from './console.ts';

const BYTES = Math.round(Number(process.env.LONGSHORE_STORY_MB ?? 64) * 1_000_000);
/** What a killed server may have to be sent again, by docs/resumable-uploads.md. */
const SENT_AGAIN = 32 * 1024 * 1024;
/** Of an upload of 1 GiB on a busy machine. */
const WAIT = { timeout: 540_000 };
const NAME = 'Genes of leaf wax';
const GENES = 'LS_0001\nLS_0007\nLS_0042\n';
t.setTimeout(0);

const chromium = await browser(t);
const dir = await tempDir(t);
const args = ['--port-base', String(await freePortBase())];
/** Runs until the end of all tests. */
const start = () => up(t, dir, args);
let app = await start();
await app.stop();
await requireOrganism(join(dir, 'config.yaml'));
app = await start();

/** BetaDB becomes a site whose datasets name an organism. */
async function requireOrganism(file: string): Promise<void> {
  const config = parse(await readFile(file, 'utf8')) as { installer: { installTargets: object[] } };
  Object.assign(config.installer.installTargets[1] ?? {}, { projectCategory: 'genomics' });
  await writeFile(file, stringify(config));
}

/** A list of many genes, one a line. */
async function manyGenes(file: string): Promise<void> {
  const blocks = function* (): Generator<Buffer> {
    for (let sent = 0, line = 0; sent < BYTES; ) {
      const lines = Array.from({ length: 50_000 }, () => `LS_${line++}\n`).join('');
      const block = Buffer.from(lines).subarray(0, BYTES - sent);
      sent += block.length;
      yield block;
    }
  };
  await pipeline(Readable.from(blocks()), createWriteStream(file));
}

async function signedIn(user: string, givenName: string): Promise<Visit> {
  const token = await app.token(user, '--given-name', givenName, '--family-name', 'Example');
  const seen = await visit(t, chromium, `${app.endpoints.installer}/`);
  await seen.page.evaluate('delete window.showSaveFilePicker');
  await seen.page.getByText('Sign in with a token').click();
  await seen.page.getByLabel('Bearer token').fill(token);
  await seen.page.getByRole('button', { name: 'Sign in with the token' }).click();
  await seen.page.getByRole('heading', { level: 1, name: 'My datasets' }).waitFor();
  return seen;
}

const open = async (page: Page, ...names: readonly string[]): Promise<void> => {
  for (const name of names) await page.getByRole('link', { name, exact: true }).click();
};

/** In the words of the page. */
const outcome = (page: Page, words: string): Promise<void> =>
  page.locator('.page-head').getByText(words, { exact: true }).waitFor(WAIT);

/** Lets the access of everybody have begun so many days earlier. */
async function passDays(days: number): Promise<void> {
  const [port, password] = await Promise.all(
    ['port', 'password'].map((name) => readFile(join(dir, `postgres.${name}`), 'utf8')),
  );
  const client = new pg.Client(`postgres://postgres:${password}@127.0.0.1:${port}/installer`);
  await client.connect();
  try {
    // The history of requests asks who changes them, and when.
    await client.query(`select set_config('longshore.cause_user', '0', false),
      set_config('longshore.cause_time', now()::text, false)`);
    await client.query('update access.end_user set start_date = start_date - make_interval(days => $1)', [days]);
  } finally {
    await client.end();
  }
}

/** Violations in light, in dark, and on a phone. */
async function violationsInAll(page: Page): Promise<readonly string[]> {
  const size = page.viewportSize();
  const light = await violations(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await violations(page);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(PHONE.viewport);
  const phone = [...(await violations(page)), ...((await fits(page)) ? [] : ['wider than the phone'])];
  if (size) await page.setViewportSize(size);
  return [...light, ...dark, ...phone];
}

const owner = await signedIn('1', 'Ada');
const { page } = owner;

t.test(`an upload of ${BYTES} bytes goes on after the server was killed in the middle`, async (t) => {
  const file = join(dir, 'genes.txt');
  await manyGenes(file);
  t.equal((await stat(file)).size, BYTES);
  await open(page, 'Upload');
  await slow(page, Math.max(2_000_000, BYTES / 10));
  const starts: number[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') starts.push(Number(request.headers()['upload-offset']));
  });
  await page.locator('input[type=file]').first().setInputFiles(file);
  await page.getByLabel('Type of data').selectOption('genelist@1.0');
  await page.getByLabel('AlphaDB').check();
  await page.getByLabel('BetaDB').check();
  await page.getByLabel('Who may see it').selectOption('protected');
  await page.getByLabel('Name', { exact: true }).fill(NAME);
  await page.getByLabel('Summary').fill('Those that are expressed in grasses');
  await page.getByLabel('Origin').fill('A laboratory');
  await page.getByRole('button', { name: 'Upload dataset' }).click();
  t.equal(await page.getByText('This is required.').count(), 2, 'BetaDB requires an organism');
  t.strictSame(await violationsInAll(page), [], 'with what is missing');
  await picture(page, 'story-missing');
  await page.getByLabel('Species').fill('Zea mays');
  await page.getByLabel('Strain').fill('B73');
  await page.getByRole('button', { name: 'Upload dataset' }).click();
  await page.getByText('Created when all files are sent.').waitFor();

  await page.getByText(/^[4-9]\d % sent$/).waitFor(WAIT);
  await app.crash();
  const banner = page.getByText('The server cannot be reached. Trying again.');
  await banner.waitFor(WAIT);
  t.equal((await banner.boundingBox())?.y, 0, 'in view, although the end of the form is');
  await picture(page, 'story-cut');
  t.ok(await page.getByRole('progressbar', { name: 'Progress of genes.txt' }).isVisible(), 'it is not given up');
  app = await start();
  await page.getByText('Dataset created.').waitFor(WAIT);
  t.equal(starts[0], 0);
  const continued = Math.max(...starts);
  t.ok(continued > Math.max(0, BYTES * 0.4 - SENT_AGAIN), `of ${BYTES} bytes, continued at ${continued}`);
});

t.test('the data are invalid, a revision fixes them, and they are shared', async (t) => {
  await page.getByText('The data are at fault.').waitFor(WAIT);
  await page
    .getByText(/more than 1,?000,?000|1000000/)
    .first()
    .waitFor();
  t.strictSame(await violationsInAll(page), [], 'invalid data');
  await picture(page, 'story-invalid');
  await page.getByRole('button', { name: 'New revision' }).click();
  await page
    .locator('input[type=file]')
    .first()
    .setInputFiles({ name: 'leaf-wax.txt', mimeType: 'text/plain', buffer: Buffer.from(GENES) });
  await page.getByText(/^Sent, /).waitFor(WAIT);
  await page.getByLabel('What is different').fill('The right file: it was a list of all genes');
  await page.getByRole('button', { name: 'Upload revision' }).click();
  await page.getByText('Dataset created.').waitFor(WAIT);
  await outcome(page, 'Installed');
  t.strictSame(await violationsInAll(page), [], 'the revision');
  await picture(page, 'story-installed');

  await page.getByRole('button', { name: 'Share', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('User id').fill('3');
  await dialog.getByRole('button', { name: 'Share' }).click();
  await page.getByText('Shared with user 3').waitFor();
  const friend = (await signedIn('3', 'Cleo')).page;
  await open(friend, 'Access', 'Requests');
  await friend.getByRole('button', { name: /^Accept dataset / }).click();
  await friend.getByText('Accepted. It is in your list of datasets.').waitFor();
  await open(friend, 'My datasets');
  await friend.getByRole('link', { name: NAME }).waitFor();
});

t.test('somebody asks for access, gets it for a day, downloads, and has it no more', async (t) => {
  const asking = await signedIn('2', 'Sam');
  const { page: other } = asking;
  await open(other, 'Access');
  await other.getByRole('button', { name: `Request access to ${NAME}` }).click();
  await other.getByRole('dialog').getByLabel('Purpose').fill('To compare two grasses');
  await other.getByRole('button', { name: 'Send request' }).click();
  await other.getByText('Request sent.').waitFor();
  await open(other, NAME);
  await other.getByRole('heading', { level: 1, name: NAME }).waitFor();
  t.equal(await other.getByRole('button', { name: /^Download / }).count(), 0, 'nothing to download yet');
  t.strictSame(await violationsInAll(other), [], 'a dataset without its files');
  await picture(other, 'story-without-files');

  await open(page, 'Access', 'Requests');
  await page.getByRole('button', { name: 'Approve the request of Sam Example' }).click();
  await page.getByRole('dialog').getByLabel('Days until it ends').fill('1');
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  const people = page.getByRole('list', { name: 'People with access' });
  await people.getByText(`${NAME} · Ends`).waitFor();
  t.strictSame(await violationsInAll(page), [], 'people with access');
  await picture(page, 'story-approved');

  await open(other, 'Access');
  await other.getByText('Access granted').waitFor();
  await open(other, NAME);
  const downloading = other.waitForEvent('download');
  await other.getByRole('list', { name: 'As uploaded' }).getByRole('button', { name: 'Download leaf-wax.txt' }).click();
  t.equal(await readFile(await (await downloading).path(), 'utf8'), GENES);
  await other.getByText('leaf-wax.txt saved; its SHA-256 is right').waitFor();
  t.match(
    await other.getByRole('list', { name: 'As uploaded' }).innerText(),
    createHash('sha256').update(GENES).digest('hex'),
  );

  await passDays(1);
  await other.getByRole('button', { name: 'Download leaf-wax.txt' }).first().click();
  await other
    .getByRole('region', { name: 'Notifications' })
    .getByText(/^the files of dataset .* are for/)
    .waitFor();
  await open(other, 'Access');
  await other.getByText('Access is over').waitFor();
  t.strictSame(await violationsInAll(other), [], 'access that is over');
  await picture(other, 'story-over');
  await open(page, 'My datasets', 'Access', 'Requests');
  await people.getByText(`${NAME} · Ended`).waitFor();
});
