// A night of an operator in a real browser: 500 uploads fail for one cause; the script is repaired and all are retried; the plugin
// is paused and resumed; a slider is moved under load, and the plot bends.

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { Api, detailsOf, formOf } from '../../support/api.ts';
import { browser } from '../browser.ts';
import { asOperator, demoConsole, picture } from './console.ts';
import { FAILING, importScript, replaceScript } from './many-rows.ts';

const FAILURES = 500;
const AT_ONCE = 4;
/** The work of this test takes minutes, longer beside other work. */
const LONG = { timeout: 240_000 };

const chromium = await browser(t);
const demo = await demoConsole(t);
const { app } = demo;
const repaired = importScript(app.dir);
const api = new Api(app.endpoints.installer, await app.token('1'));

async function uploadMany(): Promise<void> {
  const left = Array.from({ length: FAILURES }, (_, i) => `Genes ${i + 1}`);
  const worker = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const details = detailsOf('genelist', { name, installTargets: ['AlphaDB'] });
      const response = await api.post(formOf(details, [{ name: 'genes.txt', content: 'PF3D7_0100100\n' }]));
      if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
      await response.body?.cancel();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** One owner keeps this many of the lane's 10 workers busy: one stays free for others. */
const ALL_BUSY = '9 of 10';

/** The cell of the lane that says how many workers are busy. */
const busy = (page: Page, lane: string) =>
  page
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name: lane, exact: true }) })
    .getByRole('cell')
    .first();

t.test('an operator repairs what 500 datasets failed for, and watches them pass', async (t) => {
  const { page, complaints } = await asOperator(t, chromium, demo, 'datasets');
  // The dataset of the demo needs the script as well.
  await page.getByRole('row').filter({ hasText: 'Sample gene list' }).getByText('Installed').waitFor(LONG);
  await replaceScript(app.dir, FAILING);
  await uploadMany();

  await page.goto(`${demo.url}#/problems`);
  await page.getByText('500 problems of 1 cause').waitFor(LONG);
  await picture(page, 'story-500-failures');

  // The repaired script takes its time for as long as the file is there, so that the lane has work until the end of the night.
  const slow = join(app.dir, 'slow');
  await writeFile(slow, '');
  await replaceScript(app.dir, repaired.replace('\n', `\n[ ! -e '${slow}' ] || sleep 3\n`));
  await page.getByRole('button', { name: 'Retry' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('500 problems match.').waitFor();
  await dialog.getByRole('button', { name: 'Retry 500 problems' }).click();
  await page.getByText('500 problems retried.').waitFor(LONG);
  await page.getByRole('heading', { name: 'Nothing failed' }).waitFor(LONG);

  await page.goto(`${demo.url}#/lanes`);
  await busy(page, 'Import').getByText(ALL_BUSY).waitFor(LONG);
  // The plot has averages: it shows the load once that has lasted.
  await page.goto(`${demo.url}#/plots?lane=import`);
  await plotted(page, ({ last }) => last >= 7);
  await page.goto(`${demo.url}#/lanes`);
  await page.getByRole('button', { name: 'Pause genelist' }).click();
  await dialog.getByLabel('Reason').fill('a look at the converter');
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByText('genelist is paused').waitFor();
  await busy(page, 'Import').getByText('0 of 10').waitFor(LONG);
  await picture(page, 'story-paused');
  await page.getByRole('button', { name: 'Resume genelist' }).click();
  await page.getByText('genelist goes on').waitFor();
  await busy(page, 'Import').getByText(ALL_BUSY).waitFor(LONG);

  const slider = page.getByRole('slider', { name: /^workerCount/ });
  await slider.focus();
  await slider.press('Home');
  await page.getByText('workerCount, running with 1', { exact: true }).waitFor(LONG);
  await busy(page, 'Import').getByText('1 of 1', { exact: true }).waitFor(LONG);
  await page.getByText('+ workerCount: 1', { exact: true }).waitFor();
  await picture(page, 'story-slider');

  await page.goto(`${demo.url}#/plots?lane=import`);
  await plotted(page, ({ last, highest }) => last <= 2 && highest >= 7);
  t.pass('the plot has bent');
  await page.getByText('genelist resumed (Operator 1)').waitFor();
  await page.getByText('import: workerCount 1 (Operator 1)').waitFor();
  await picture(page, 'story-bent');

  await page.goto(`${demo.url}#/lanes`);
  await rm(slow);
  await slider.focus();
  await slider.press('End');
  await page.getByText('workerCount, running with 20', { exact: true }).waitFor(LONG);
  await busy(page, 'Import').getByText('0 of 20').waitFor(LONG);
  await page.goto(`${demo.url}#/problems`);
  await page.getByRole('heading', { name: 'Nothing failed' }).waitFor(LONG);
  t.strictSame(complaints, []);
});

/** Waits until the plot of running imports says so. */
async function plotted(
  page: Page,
  is: (plot: { readonly last: number; readonly highest: number }) => boolean,
): Promise<void> {
  const running = page.getByRole('figure', { name: 'Jobs running' });
  await running.waitFor(LONG);
  for (;;) {
    const [, last, highest] = /Import last ([\d.]+), highest ([\d.]+)/.exec(await running.innerText()) ?? [];
    if (is({ last: Number(last), highest: Number(highest) })) return;
    await page.waitForResponse(/\/admin\/metrics\/history\?series/, LONG).then((response) => response.finished());
  }
}
