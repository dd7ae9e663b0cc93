// 10,000 datasets and 10,000 problems in real tables: few rows are drawn, the last one is reached, and the page never stalls.
// `npm run console:figures` prints the same in milliseconds.

import type { Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { browser } from '../browser.ts';
import { visit } from './console.ts';
import { MANY, manyRows, scrolled, showAll } from './many-rows.ts';

/** Nobody believes that a page that answers nothing for this long works. */
const STALL_MS = 2_000;
const MOST_DRAWN = 80;

const chromium = await browser(t);
const demo = await manyRows(t);

async function isUsable(t: Test, page: Page, name: string): Promise<void> {
  const table = page.getByRole('region', { name });
  const { longestTask, longestFrame, medianFrame } = await scrolled(page, name);
  t.comment(
    `longest task ${longestTask} ms, longest frame ${longestFrame.toFixed(1)} ms, median ${medianFrame.toFixed(1)} ms`,
  );
  t.ok(longestTask < STALL_MS, `longest task ${longestTask} ms`);
  t.ok(longestFrame < STALL_MS, `longest frame ${longestFrame} ms`);
  t.ok((await table.getByRole('row').count()) < MOST_DRAWN);
  await table.focus();
  await page.keyboard.press('End');
  await table.locator(`[aria-rowindex="${MANY + 1}"]`).waitFor();
  t.ok((await table.getByRole('row').count()) < MOST_DRAWN);
  const last = table.getByRole('row').last();
  await last.scrollIntoViewIfNeeded();
  t.equal(await last.getAttribute('aria-rowindex'), String(MANY + 1));
}

t.test(`${MANY} datasets`, async (t) => {
  const { page, complaints } = await visit(t, chromium, demo.link());
  const shown = (rows: number): Locator =>
    page.getByText(rows < MANY ? `${rows.toLocaleString('en')} of 10,000 datasets` : '10,000 datasets', {
      exact: true,
    });
  await showAll(page, shown, 200, 1_000);
  await isUsable(t, page, 'My datasets');

  await page.goto(`${demo.url}#/problems/list`);
  const listed = (rows: number): Locator =>
    page.getByText(rows < MANY ? `${rows.toLocaleString('en')} problems so far, the oldest first` : '10,000 problems', {
      exact: true,
    });
  await showAll(page, listed, 500, 500);
  await isUsable(t, page, 'One by one');
  t.strictSame(complaints, []);
});
