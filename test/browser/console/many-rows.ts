// A program with 10,000 datasets of one user whose imports failed for one cause: as many rows in "My datasets", and as many
// problems. And how a table is scrolled, with how long the page was busy at once.

import { readFileSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { parse, stringify } from 'yaml';
import { CopiedDatasets } from '../../support/copied-datasets.ts';
import { freePortBase, longshore, tempDir, up } from '../../support/longshore.ts';
import { type Console, linkOf, uploaded } from './console.ts';

export const MANY = 10_000;

interface Teardown {
  teardown(fn: () => unknown): void;
}

export async function manyRows(t: Teardown): Promise<Console> {
  const dir = await tempDir(t);
  const args = ['--port-base', String(await freePortBase())];
  await (await up(t, dir, args)).stop();
  // It would look at each of them while the pages are measured.
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as { installer: { daemons?: object } };
  config.installer.daemons = { reconciler: { enabled: false, fullRunInterval: '12h', slimRunInterval: '6h' } };
  await writeFile(file, stringify(config));
  const app = await up(t, dir, args);
  const demo = { app, url: `${app.endpoints.installer}/`, link: () => linkOf(app) };
  await replaceScript(app.dir, FAILING);
  await uploaded(demo, '1', 'Genes to copy');
  const headers = { authorization: `Bearer ${await app.token('1')}` };
  const listed = await fetch(`${app.endpoints.installer}/datasets`, { headers });
  const [original] = (await listed.json()) as { datasetId: string }[];
  const dataset = original?.datasetId ?? '';
  await longshore(['watch', dataset, '--data', dir, '--user', '1']);
  await using copied = await CopiedDatasets.open(dir);
  await copied.add({ owner: '1', dataset }, MANY - 1, (n) => ({ owner: '1', dataset: `${dataset}-${n}` }));
  await copied.analyze();
  return demo;
}

export const FAILING = '#!/bin/sh\necho "the converter is missing" >&2\nexit 7\n';

const scriptOf = (dir: string): string => join(dir, 'plugins', 'genelist', 'import');

export const importScript = (dir: string): string => readFileSync(scriptOf(dir), 'utf8');

/** Other programs may be starting the script, so it is replaced by a whole one. */
export async function replaceScript(dir: string, text: string): Promise<void> {
  await writeFile(scriptOf(dir), text);
  await chmod(scriptOf(dir), 0o755);
}

export interface Scrolled {
  readonly steps: number;
  /** Milliseconds without an answer to the person, at most: tasks of more than 50 ms are counted. */
  readonly longestTask: number;
  /** Milliseconds between two pictures of the screen, at most and in the middle. */
  readonly longestFrame: number;
  readonly medianFrame: number;
}

/** From the first row to the last one and back, in jumps of a few screens, one in each picture. @param name of the table */
export async function scrolled(page: Page, name: string): Promise<Scrolled> {
  const region = `document.querySelector('section.table[aria-label="${name}"]')`;
  return (await page.evaluate(`(${SCROLL_SCRIPT})(${region})`)) as Scrolled;
}

const SCROLL_SCRIPT = `async (table) => {
  const tasks = [];
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(duration);
  });
  observer.observe({ entryTypes: ['longtask'] });
  const picture = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const end = table.scrollHeight - table.clientHeight;
  const steps = 400;
  const frames = [];
  let before = await picture();
  for (let step = 1; step <= steps; step++) {
    table.scrollTop = end * (step <= steps / 2 ? step / (steps / 2) : 2 - step / (steps / 2));
    const now = await picture();
    frames.push(now - before);
    before = now;
  }
  // Entries of the last task come after it.
  await picture();
  observer.disconnect();
  frames.sort((a, b) => a - b);
  return {
    steps,
    longestTask: Math.max(0, ...tasks),
    longestFrame: frames.at(-1),
    medianFrame: frames[steps / 2],
  };
}`;

/** Presses "Show more" until everything is shown. */
export async function showAll(
  page: Page,
  shown: (rows: number) => Locator,
  first: number,
  step: number,
): Promise<void> {
  await shown(first).waitFor({ timeout: 60_000 });
  for (let rows = first; rows < MANY; ) {
    await page.getByRole('button', { name: 'Show more' }).click();
    rows = Math.min(rows + step, MANY);
    await shown(rows).waitFor({ timeout: 60_000 });
  }
}
