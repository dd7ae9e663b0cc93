// npm run console:figures [-- --minutes N] [-- --rows]: measures the web console in Debian's Chromium on a running program, and
// fails if a figure is above its bar. It prints
//   - the first load: bytes over the network, and when a person can work, with an empty cache
//   - the JavaScript memory of three open pages after N minutes (60) of live updates, each after a garbage collection
//   - with --rows: how long tables of 10,000 datasets and problems keep the page busy while they are scrolled
// Other work on the machine makes the times longer; the bytes and the memory stay.

import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { Api, detailsOf } from '../../support/api.ts';
import { browser } from '../browser.ts';
import { asOperator, type Console, demoConsole, visit } from './console.ts';
import { MANY, manyRows, scrolled, showAll } from './many-rows.ts';

const KB = 1_000;
const MB = 1_000_000;
const BARS = { firstLoad: 200 * KB, interactiveMs: 1_000, growth: 20 * MB, task: 200 };
const VISITS = 7;
/** Pages that are drawn once are compiled, cached and measured before the hour begins. */
const WARM_UP_MS = 60_000;
const LOOK_MS = 5 * 60_000;
/** A dataset is uploaded this often, so that events arrive. */
const UPLOAD_MS = 20_000;

/** When the page shows it and no task of more than 50 ms follows at once: then a click is answered. */
const READY_SCRIPT = `globalThis.interactive = new Promise((resolve) => {
  let busyUntil = 0;
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) busyUntil = Math.max(busyUntil, startTime + duration);
  }).observe({ type: 'longtask', buffered: true });
  const look = () => {
    if (!(READY)) return requestAnimationFrame(look);
    const shownAt = performance.now();
    setTimeout(() => resolve(Math.max(shownAt, busyUntil)), 500);
  };
  look();
})`;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, rows: { type: 'boolean', default: false } },
});
const minutes = Number(values.minutes);
if (!(minutes >= 0)) throw new Error(`--minutes must be a number from 0, not '${values.minutes}'`);

await using ends = new AsyncDisposableStack();
const t = { teardown: (end: () => unknown) => ends.defer(async () => void (await end())) };
const chromium = await browser(t);
const demo = await demoConsole(t);

function print(name: string, value: string, isWithin?: boolean): void {
  if (isWithin === false) process.exitCode = 1;
  const verdict = isWithin === undefined ? '' : isWithin ? '  ok' : '  TOO MUCH';
  console.log(`${new Date().toISOString().slice(11, 19)}  ${name.padEnd(52)} ${value}${verdict}`);
}

await firstLoads(chromium, demo);
if (minutes > 0) await memory(chromium, demo);
if (values.rows) await tables(chromium);

/** Each in a browser context of its own, so nothing is cached. */
async function firstLoads(chromium: Browser, { url, link }: Console): Promise<void> {
  const sizes: number[] = [];
  const shown: Record<'the sign-in' | 'My datasets', number[]> = { 'the sign-in': [], 'My datasets': [] };
  for (let count = 0; count < VISITS; count++) {
    const [bytes, ms] = await firstLoad(chromium, url, "document.querySelector('main button')");
    sizes.push(bytes);
    shown['the sign-in'].push(ms);
    const [, signedIn] = await firstLoad(chromium, link(), "document.querySelector('main table, main .empty')");
    shown['My datasets'].push(signedIn);
  }
  const most = Math.max(...sizes);
  print('first load, compressed (at most 200 KB)', `${(most / KB).toFixed(1)} KB`, most <= BARS.firstLoad);
  for (const [name, times] of Object.entries(shown)) {
    const [middle = 0, worst = 0] = [median(times), Math.max(...times)];
    const text = `${middle.toFixed(0)} ms, worst of ${VISITS} ${worst.toFixed(0)} ms`;
    print(`interactive: ${name} (median below 1 s)`, text, middle < BARS.interactiveMs);
  }
}

/** @param ready an expression that is true once a person can work */
async function firstLoad(chromium: Browser, url: string, ready: string): Promise<[bytes: number, ms: number]> {
  const context = await chromium.newContext({ viewport: { width: 1_280, height: 860 } });
  try {
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    let bytes = 0;
    devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await devtools.send('Network.enable');
    await page.addInitScript(READY_SCRIPT.replace('READY', () => ready));
    await page.goto(url);
    const ms = (await page.evaluate('globalThis.interactive')) as number;
    return [bytes, ms];
  } finally {
    await context.close();
  }
}

async function memory(chromium: Browser, demo: Console): Promise<void> {
  const pages: Record<string, Page> = {};
  for (const path of ['datasets', 'lanes', 'plots']) pages[path] = (await asOperator(t, chromium, demo, path)).page;
  const sessions = await Promise.all(
    Object.entries(pages).map(async ([name, page]) => [name, await page.context().newCDPSession(page)] as const),
  );
  const over = new AbortController();
  const uploading = uploads(demo, over.signal);
  try {
    await pause(Math.min(WARM_UP_MS, minutes * 60_000));
    const before = await usesOf(sessions);
    for (const [name, { heap, nodes }] of before)
      print(`memory of ${name}, at first`, `${(heap / MB).toFixed(1)} MB, ${nodes} nodes`);
    const end = Date.now() + minutes * 60_000;
    while (Date.now() < end) {
      await pause(Math.min(LOOK_MS, end - Date.now()));
      const isLast = Date.now() >= end;
      for (const [name, { heap, nodes }] of await usesOf(sessions)) {
        const grown = heap - (before.get(name)?.heap ?? 0);
        const text = `${(heap / MB).toFixed(1)} MB, ${nodes} nodes, grown by ${(grown / MB).toFixed(1)} MB`;
        print(
          `memory of ${name}${isLast ? ` after ${minutes} minutes (by at most 20 MB)` : ''}`,
          text,
          isLast ? grown <= BARS.growth : undefined,
        );
      }
    }
  } finally {
    over.abort();
    print('datasets uploaded meanwhile', String(await uploading));
  }
}

interface Use {
  readonly heap: number;
  readonly nodes: number;
}

async function usesOf(sessions: readonly (readonly [string, CDPSession])[]): Promise<ReadonlyMap<string, Use>> {
  const uses = new Map<string, Use>();
  for (const [name, devtools] of sessions) {
    await devtools.send('HeapProfiler.collectGarbage');
    const { usedSize } = await devtools.send('Runtime.getHeapUsage');
    const { nodes } = await devtools.send('Memory.getDOMCounters');
    uses.set(name, { heap: usedSize, nodes });
  }
  return uses;
}

/** Resolves with how many there were. */
async function uploads({ app }: Console, signal: AbortSignal): Promise<number> {
  const api = new Api(app.endpoints.installer, await app.token('1'));
  for (let count = 0; ; count++) {
    if (signal.aborted) return count;
    const details = detailsOf('genelist', { name: `Genes ${count + 1}`, installTargets: ['AlphaDB'] });
    await api.upload(details, [{ name: 'genes.txt', content: 'PF3D7_0100100\n' }]);
    await pause(UPLOAD_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function tables(chromium: Browser): Promise<void> {
  const many = await manyRows(t);
  const { page } = await visit(t, chromium, many.link());
  const text = (shown: string) => page.getByText(shown, { exact: true });
  const words = (rows: number): string => rows.toLocaleString('en');
  await showAll(
    page,
    (rows) => text(rows < MANY ? `${words(rows)} of 10,000 datasets` : '10,000 datasets'),
    200,
    1_000,
  );
  await table('My datasets');
  await page.goto(`${many.url}#/problems/list`);
  await showAll(
    page,
    (rows) => page.getByText(new RegExp(`^${words(rows)} problems( so far, the oldest first)?$`)),
    ...([500, 500] as const),
  );
  await table('One by one');

  async function table(name: string): Promise<void> {
    const { steps, longestTask, longestFrame, medianFrame } = await scrolled(page, name);
    const figures = `task ${longestTask.toFixed(0)} ms, frame ${longestFrame.toFixed(0)} ms, median ${medianFrame.toFixed(1)} ms`;
    print(`10,000 rows of ${name}, ${steps} jumps (tasks below 200 ms)`, figures, longestTask < BARS.task);
  }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
