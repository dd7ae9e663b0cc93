// Access in a real browser: a second person asks for a dataset, its owner approves for some days, and denies another; both see
// what became of it. Who is not asked cannot decide, whatever a page shows.

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { longshore, ROOT } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { demoConsole, PHONE, picture, violations, visit } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);
const NAME = 'Genes on request';

async function openAccess(page: Page, user: string, tab = 'Find datasets'): Promise<void> {
  await page.getByRole('button', { name: `Sign in as ${user}` }).click();
  await page.getByRole('link', { name: 'Access', exact: true }).click();
  await page.getByRole('navigation', { name: 'Access' }).getByRole('link', { name: tab }).click();
}

t.before(async () => {
  const { code, stderr } = await longshore([
    ...['upload', join(ROOT, 'config', 'samples', 'genes.txt'), '--data', demo.app.dir, '--user', '1'],
    ...['--type', 'genelist@1.0', '--target', 'AlphaDB', '--name', NAME, '--summary', 'Ask for them'],
    ...['--visibility', 'protected'],
  ]);
  if (code !== 0) throw new Error(`upload: ${stderr}`);
});

t.test('somebody asks, the owner approves for some days, and ends it', async (t) => {
  const asking = await visit(t, chromium, demo.url);
  await openAccess(asking.page, 'Sam Reader');
  const curated = asking.page.getByRole('list', { name: 'Curated datasets' }).getByRole('listitem');
  await curated.filter({ hasText: 'Leaf wax of twelve grasses' }).waitFor();
  const announced = curated.filter({ hasText: 'Root microbiomes after a dry spring' });
  await announced.getByText('Not released yet').waitFor();
  t.equal(await announced.getByRole('button').count(), 0, 'what is not released cannot be requested');
  await asking.page.getByRole('button', { name: `Request access to ${NAME}` }).click();
  const form = asking.page.getByRole('dialog');
  await form.getByLabel('Purpose').fill('To compare two lists');
  await form.getByLabel('Research question').fill('Are they the same?');
  t.strictSame(await violations(asking.page), [], 'the request');
  await picture(asking.page, 'access-request');
  await form.getByRole('button', { name: 'Send request' }).click();
  await asking.page.getByText('Request sent.').waitFor();
  const row = asking.page.getByRole('list', { name: 'Datasets of the community' }).getByRole('listitem');
  await row.getByText('Requested', { exact: true }).waitFor();

  const deciding = await visit(t, chromium, demo.url);
  await openAccess(deciding.page, 'Demo User', 'Requests');
  await deciding.page.getByText('To compare two lists').waitFor();
  await deciding.page.getByRole('article').getByRole('link', { name: NAME }).waitFor();
  t.strictSame(await violations(deciding.page), [], 'the inbox');
  await picture(deciding.page, 'access-inbox');
  await deciding.page.getByRole('button', { name: /^Approve the request of/ }).click();
  const question = deciding.page.getByRole('dialog');
  await question.getByLabel('Days until it ends').fill('soon');
  await question.getByRole('button', { name: 'Approve' }).click();
  await question.getByText('Enter a whole number from 1, or nothing').waitFor();
  await question.getByLabel('Days until it ends').fill('30');
  await question.getByRole('button', { name: 'Approve' }).click();
  const people = deciding.page.getByRole('list', { name: 'People with access' });
  await people.getByText(/in 4 weeks|in 30 days|next month|in 1 month/).waitFor();

  await asking.page.getByRole('link', { name: 'My datasets' }).click();
  await asking.page.getByRole('link', { name: 'Access', exact: true }).click();
  await row.getByText('Access granted').waitFor();

  await people.getByRole('button', { name: /^End access of/ }).click();
  await question.getByLabel('Reason').fill('The study has ended');
  t.strictSame(await violations(deciding.page), [], 'the denial');
  await question.getByRole('button', { name: 'Deny' }).click();
  await deciding.page.getByText('Nobody was given access by request.').waitFor();
  await deciding.page.getByRole('link', { name: 'History' }).click();
  await deciding.page.getByText('The study has ended').first().waitFor();
  await deciding.page.getByRole('cell', { name: NAME }).first().waitFor();
  t.strictSame(await violations(deciding.page), [], 'the history');
  await picture(deciding.page, 'access-history');
  // The private dataset of the owner has no requests.
  const complaints = [...asking.complaints, ...deciding.complaints];
  t.strictSame(
    complaints.filter((text) => !/status of 40[34]/.test(text)),
    [],
  );
});

for (const [name, options] of Object.entries({
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: PHONE,
} as const))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await visit(t, chromium, demo.url, options);
    await page.getByRole('button', { name: 'Sign in as Sam Reader' }).click();
    await page.getByRole('heading', { level: 1, name: 'My datasets' }).waitFor();
    await page.goto(`${demo.url}#/access`);
    await page.getByRole('list', { name: 'Curated datasets' }).getByText('Leaf wax of twelve grasses').waitFor();
    await page.getByRole('link', { name: NAME }).waitFor();
    t.strictSame(await violations(page), []);
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), page.viewportSize()?.width);
    await picture(page, `access-${name}`);

    const owner = await visit(t, chromium, demo.url, options);
    await owner.page.getByRole('button', { name: 'Sign in as Demo User' }).click();
    await owner.page.getByRole('heading', { level: 1, name: 'My datasets' }).waitFor();
    await owner.page.goto(`${demo.url}#/access/inbox`);
    await owner.page.getByText('Nobody was given access by request.').waitFor();
    t.strictSame(await violations(owner.page), [], 'the inbox');
    await owner.page.goto(`${demo.url}#/access/history`);
    await owner.page.getByRole('cell', { name: NAME }).first().waitFor();
    t.strictSame(await violations(owner.page), [], 'the history');
    t.equal(await owner.page.evaluate('document.documentElement.scrollWidth'), owner.page.viewportSize()?.width);
    await picture(owner.page, `access-history-${name}`);
  });

t.test('says that there is no access service', async (t) => {
  const { page } = await visit(t, chromium, demo.url);
  await page.route('**/console/settings.json', async (route) => {
    const answer = await route.fetch();
    const settings = await answer.json();
    await route.fulfill({ response: answer, json: { ...settings, services: {} } });
  });
  await page.reload();
  await openAccess(page, 'Sam Reader');
  await page.getByText('Requests for access are not part of this installation').waitFor();
  t.strictSame(await violations(page), []);
});
