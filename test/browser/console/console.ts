// The console of a running `longshore up --demo` in the browser: somebody signs in and looks at a page. A page of the console is
// tested beside this file.

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { freePortBase, longshore, ROOT, tempDir, type Up, up } from '../../support/longshore.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface Console {
  readonly app: Up;
  /** Of the page. */
  readonly url: string;
  /** The link that `up` printed last. */
  link(): string;
}

/** Where something stays until the end. */
interface Teardown {
  teardown(fn: () => unknown): void;
}

/** A running program with one installed dataset, whose console is built. */
export async function demoConsole(t: Teardown): Promise<Console> {
  if (!existsSync(join(ROOT, 'clients', 'console', 'built', 'manifest.json')))
    throw new Error('the console is not built: npm run build:console');
  const base = await freePortBase();
  const app = await up(t, await tempDir(t), ['--demo', '--port-base', String(base)]);
  return {
    app,
    url: `${app.endpoints.installer}/`,
    link: () => linkOf(app),
  };
}

/** The link that `up` printed last. */
export function linkOf(app: Pick<Up, 'printed'>): string {
  const found = [...app.printed().matchAll(/^console: open (\S+)/gm)].at(-1)?.[1];
  if (found === undefined) throw new Error(`up printed no link: ${app.printed()}`);
  return found;
}

export interface Visit {
  readonly page: Page;
  /** What the browser complained of: refused by the policy, failed, thrown. */
  readonly complaints: readonly string[];
}

/** A new visitor. */
export async function visit(
  t: Teardown,
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 860 }, ...options });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, complaints };
}

export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true } as const;

/** Violations of WCAG 2.2 A and AA, and of axe's best practices, each with where. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })",
  )) as { violations: readonly { id: string; nodes: readonly { html: string }[] }[] };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

/** For people: with LONGSHORE_PICTURES the page is also kept as a picture in that folder. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.LONGSHORE_PICTURES;
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Uploads a dataset of the user by the command line. */
export async function uploaded({ app }: Pick<Console, 'app'>, user: string, name: string): Promise<void> {
  const { code, stderr } = await longshore([
    ...['upload', join(ROOT, 'config', 'samples', 'genes.txt'), '--data', app.dir, '--user', user],
    ...['--type', 'genelist@1.0', '--target', 'AlphaDB', '--name', name, '--summary', 'Genes of interest'],
  ]);
  if (code !== 0) throw new Error(`upload: ${stderr}`);
}

/** It follows the line by which `up` says that it is ready. */
async function printedLink({ app, link }: Console): Promise<string> {
  while (!/^console: open \S+\s/m.test(app.printed())) {
    const { stdout, stderr } = app.child;
    if (stdout && stderr) await Promise.race([once(stdout, 'data'), once(stderr, 'data')]);
  }
  return link();
}

/** Signs in by the link of `up`. */
export async function asOperator(
  t: Teardown,
  browser: Browser,
  demo: Console,
  path: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const { url } = demo;
  const seen = await visit(t, browser, await printedLink(demo), options);
  await seen.page.getByRole('heading', { level: 1, name: 'My datasets' }).waitFor();
  await seen.page.goto(`${url}#/${path}`);
  return seen;
}

/** The same whose role is shown as observer. What the server refuses is tested with its routes. */
export async function asObserver(t: Teardown, browser: Browser, demo: Console, path: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 860 } });
  t.teardown(() => context.close());
  const page = await context.newPage();
  await page.route('**/console/self', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), role: 'observer' } });
  });
  await page.goto(await printedLink(demo));
  await page.getByRole('heading', { level: 1, name: 'My datasets' }).waitFor();
  await page.goto(`${demo.url}#/${path}`);
  return { page, complaints: [] };
}

export const LOOKS = { light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, phone: PHONE } as const;

/** Nothing is wider than the window. */
export async function fits(page: Page): Promise<boolean> {
  return (await page.evaluate('document.documentElement.scrollWidth')) === page.viewportSize()?.width;
}

/** Sends slowly enough that a person could press a button. @param bytesPerSecond -1 = as fast as it can */
export async function slow(page: Page, bytesPerSecond: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: bytesPerSecond,
  });
}
