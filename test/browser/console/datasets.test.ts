// My datasets in a real browser, after a sign-in by the link of `up`: what it shows, how it follows changes, sharing, deleting,
// and that it can be used by everybody.

import t from 'tap';
import { browser } from '../browser.ts';
import { demoConsole, PHONE, picture, uploaded, violations, visit } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);

t.test('the link of up signs its operator in, once', async (t) => {
  const link = demo.link();
  const { page, complaints } = await visit(t, chromium, link);
  await page.getByRole('heading', { level: 1, name: 'My datasets' }).waitFor();
  t.notMatch(page.url(), /code=/, 'the code is out of the address');
  t.match(await page.getByRole('banner').innerText(), /Demo User\s+Operator/);
  t.strictSame(complaints, []);

  const again = await visit(t, chromium, link);
  await again.page.getByText('this sign-in link was used or has expired').waitFor();
  t.not(demo.link(), link, 'the terminal shows a new link');
  const third = await visit(t, chromium, demo.link());
  await third.page.getByRole('heading', { level: 1, name: 'My datasets' }).waitFor();
});

t.test('lists datasets, follows changes, shares and deletes', async (t) => {
  const { page, complaints } = await visit(t, chromium, demo.url);
  await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
  await page.getByRole('link', { name: 'Sample gene list' }).waitFor();
  await page.getByRole('row').filter({ hasText: 'Sample gene list' }).getByText('Installed').waitFor();

  await uploaded(demo, '1', 'Genes that come later');
  const row = page.getByRole('row').filter({ hasText: 'Genes that come later' });
  await row.waitFor();
  await row.getByText('Installed').waitFor({ timeout: 60_000 });
  await picture(page, 'datasets-light');

  await page.getByLabel('Search').fill('later');
  await page.getByText('1 dataset', { exact: true }).waitFor();
  t.match(page.url(), /#\/datasets\?q=later$/, 'the address has the search');
  await page.getByLabel('Search').fill('');
  await page.getByText('2 datasets', { exact: true }).waitFor();

  await row.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Share' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('User id').fill('none');
  await dialog.getByRole('button', { name: 'Share' }).click();
  await dialog.getByText('Enter a user id: a whole number from 1').waitFor();
  t.strictSame(await violations(page), [], 'the dialog with a fault');
  await picture(page, 'datasets-share');
  await dialog.getByLabel('User id').fill('2');
  await dialog.getByRole('button', { name: 'Share' }).click();
  await page.getByText('1 dataset shared with user 2').waitFor();
  await row.getByText('1 person').waitFor();

  await row.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Delete' }).click();
  t.strictSame(await violations(page), [], 'the question before a deletion');
  await picture(page, 'datasets-delete');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('1 dataset deleted').waitFor();
  await row.waitFor({ state: 'detached' });
  t.strictSame(complaints, []);
});

for (const [name, options] of Object.entries({
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: PHONE,
} as const))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page } = await visit(t, chromium, demo.url, options);
    await page.getByRole('button', { name: 'Sign in as Demo User' }).waitFor();
    t.strictSame(await violations(page), [], 'sign-in');
    await picture(page, `sign-in-${name}`);
    await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
    await page.getByRole('link', { name: 'Sample gene list' }).waitFor();
    t.strictSame(await violations(page), [], 'my datasets');
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), page.viewportSize()?.width);
    await picture(page, `datasets-${name}`);
    await page.goto(`${demo.url}#/nothing`);
    await page.getByRole('heading', { name: 'There is no such page' }).first().waitFor();
    t.strictSame(await violations(page), [], 'no such page');
  });

t.test('a long name can be read on a phone, and rows keep their height', async (t) => {
  const name = 'Leaf wax genes of Sorghum bicolor under drought, second harvest';
  await uploaded(demo, '1', name);
  const { page } = await visit(t, chromium, demo.url, PHONE);
  await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
  const link = page.getByRole('link', { name });
  await link.waitFor();
  const { lines, rows } = (await page.evaluate(`(() => {
    const link = [...document.querySelectorAll('.dataset-name a')].find((one) => one.textContent === ${JSON.stringify(name)});
    const height = (element) => element.getBoundingClientRect().height;
    return {
      lines: Math.round(height(link) / parseFloat(getComputedStyle(link).lineHeight)),
      rows: [...document.querySelectorAll('tbody tr:not(.gap)')].map((row) => Math.round(height(row))),
    };
  })()`)) as { readonly lines: number; readonly rows: readonly number[] };
  t.equal(lines, 3);
  t.ok(rows.length > 1);
  t.same(
    rows.filter((height) => height !== rows[0]),
    [],
  );
  t.strictSame(await violations(page), []);
  await picture(page, 'datasets-long-name');
});

t.test('says that the server is away, and goes on by itself', async (t) => {
  const { page } = await visit(t, chromium, demo.url);
  await page.getByRole('button', { name: 'Sign in as Demo User' }).click();
  await page.getByRole('link', { name: 'Sample gene list' }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('The server cannot be reached. Trying again.').waitFor();
  await picture(page, 'away');
  await page.context().setOffline(false);
  await page.getByText('The server cannot be reached. Trying again.').waitFor({ state: 'detached', timeout: 60_000 });
  await page.getByRole('link', { name: 'Sample gene list' }).waitFor();
});
