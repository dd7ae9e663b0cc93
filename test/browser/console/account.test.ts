// The account in a real browser: who is signed in, and signing out here and everywhere.

import t from 'tap';
import { browser } from '../browser.ts';
import { asOperator, demoConsole, fits, LOOKS, picture, violations } from './console.ts';

const chromium = await browser(t);
const demo = await demoConsole(t);

for (const [name, options] of Object.entries(LOOKS))
  t.test(`can be used by everybody: ${name}`, async (t) => {
    const { page, complaints } = await asOperator(t, chromium, demo, 'datasets', options);
    await page.getByRole('banner').getByRole('button', { name: 'Demo User' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your account' });
    await dialog.getByText('Operator, id 1').waitFor();
    t.strictSame(await violations(page), []);
    t.ok(await fits(page));
    await picture(page, `account-${name}`);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    t.strictSame(complaints, []);
  });

t.test('signing out everywhere ends other pages and printed tokens, and nobody else', async (t) => {
  const here = await asOperator(t, chromium, demo, 'datasets');
  const elsewhere = await asOperator(t, chromium, demo, 'lanes');
  await elsewhere.page.getByRole('heading', { name: 'Reconciler' }).waitFor();
  const [printed, of2] = [await demo.app.token('1'), await demo.app.token('2')];
  const status = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${demo.url}console/self`, { headers })).status;
  };
  t.equal(await status(printed), 200);
  await here.page.getByRole('banner').getByRole('button', { name: 'Demo User' }).click();
  await here.page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await here.page.getByRole('heading', { name: 'Sample users of this demo' }).waitFor();
  await elsewhere.page.getByText('Your sign-in has ended. Sign in again to go on.').waitFor({ timeout: 60_000 });
  await picture(elsewhere.page, 'account-ended');
  t.equal(await status(printed), 401);
  t.equal(await status(of2), 200);
  await elsewhere.page.getByRole('button', { name: 'Sign in as Demo User' }).click();
  await elsewhere.page.getByRole('banner').getByText('Demo User').waitFor();
  t.equal(await status(await demo.app.token('1')), 200);
});
