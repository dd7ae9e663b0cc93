// The program under attack: everything that `longshore up` runs, in one process, watched for its memory and for whether
// others are still served.

import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Test } from 'tap';
import { parse, stringify } from 'yaml';
import { LOCALHOST_CERT, LOCALHOST_KEY } from '../../fixtures/certificate.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { freePortBase, longshore, running, tempDir, type Up, up } from '../../support/longshore.ts';
import { servedSite } from '../../support/served-site.ts';
import { controlProcess } from './control.ts';

/** For the whole process, from its start to the end of the attack. */
export const MEMORY_CAP_MIB = 512;
/** What others may wait on a machine that has nothing else to do. */
const SERVED_WITHIN_MS = 1_000;
/** They ask so often, at this pace and whatever has become of those before: who waits for an answer asks less of the slow. */
const REQUESTS = 10;
const PACE_MS = 200;
/**
 * Where the machine is busy with other tests, a process that does nothing waits too, and the program more often: its answer
 * takes a way to the database and back for each of its parts. So others may wait longer by so many times what it waits.
 */
const WAYS = 20;
/** Of one request, whatever the machine does. */
const GIVEN_UP_MS = 15_000;

export interface Watched {
  /** The highest resident memory that the process ever had; its threads are part of it. */
  peakMib(): number;
  /** Somebody else asks, on a connection of their own: the milliseconds until the whole answer was there. */
  othersWait(url?: string): Promise<number>;
  /** It lives, stayed below the cap, and serves others without delay. */
  holds(t: Test): Promise<void>;
  /** It lives, stayed below the cap, and serves others, who may have to wait for a place. */
  servesOthers(t: Test): Promise<void>;
}

export interface Served extends Watched {
  /** Of the installer. */
  readonly url: string;
  readonly adminToken: string;
  /** The cache database. */
  readonly db: TestDatabase;
  token(user: string, ...options: string[]): Promise<string>;
}

/** Everything that `up` runs, on a directory of an earlier one or a new one. */
export async function victim(t: Test, args: readonly string[] = [], dir?: string): Promise<Up & Watched> {
  const app = await up(t, dir ?? (await tempDir(t)), ['--port-base', String(await freePortBase()), ...args]);
  return { ...app, ...watched(t, app.endpoints.pid, app.endpoints.installer) };
}

export interface ServedOptions {
  readonly tls?: boolean;
  /** Of `http.limits`. */
  readonly limits?: object;
  /** More of `http`. */
  readonly http?: object;
}

/** `serve`, for attacks that need a configuration of their own. There is no plugin. */
export async function servedVictim(
  t: Test,
  { tls = false, limits = {}, http: more = {} }: ServedOptions,
): Promise<Served> {
  const db = await testDatabase(t);
  const { dir, file, installer, adminToken } = await servedSite(t, db, db);
  const document = parse(await readFile(file, 'utf8')) as { containerCore: object };
  const files = { certFile: join(dir, 'tls.pem'), keyFile: join(dir, 'tls-key.pem') };
  await writeFile(files.certFile, LOCALHOST_CERT);
  await writeFile(files.keyFile, LOCALHOST_KEY);
  const http = { ...more, limits, ...(tls && { tls: files }) };
  await writeFile(file, stringify({ ...document, containerCore: { ...document.containerCore, http } }));
  for (const args of [['migrate'], ['migrate-target', 'SiteA']]) await longshore([...args, '--config', file]);
  const { pid } = await running(t, ['serve', '--config', file]);
  const url = tls ? installer.replace('http:', 'https:') : installer;
  return {
    ...{ url, adminToken, db },
    ...watched(t, pid, url),
    async token(user, ...options) {
      return (await longshore(['token', '--config', file, '--user', user, ...options])).stdout.trim();
    },
  };
}

function watched(t: Test, pid: number, url: string): Watched {
  const peakMib = (): number =>
    Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  const othersWait = (at = `${url}/ready`): Promise<number> => askElsewhere(at);
  t.comment(`peak before the attack: ${peakMib().toFixed(0)} MiB`);
  const staysSmall = (t: Test): void => {
    // A process that has died has no memory, and no peak to read.
    const peak = peakMib();
    t.ok(peak > 0 && peak < MEMORY_CAP_MIB, `peak ${peak.toFixed(0)} MiB, at most ${MEMORY_CAP_MIB}`);
  };
  return {
    peakMib,
    othersWait,
    async servesOthers(t) {
      const waits: number[] = [];
      for (let n = 0; n < REQUESTS; n++) waits.push(await othersWait());
      t.comment(`others were served in at most ${Math.max(...waits).toFixed(0)} ms`);
      staysSmall(t);
    },
    async holds(t) {
      const control = await controlProcess(t);
      const asked: Promise<readonly [number, number]>[] = [];
      for (let n = 0; n < REQUESTS; n++) {
        asked.push(Promise.all([othersWait(), askElsewhere(control)]));
        await setTimeout(PACE_MS);
      }
      const waits = await Promise.all(asked);
      const waited = nearlyLongest(waits.map(([own]) => own));
      const controlWaited = nearlyLongest(waits.map(([, beside]) => beside));
      const most = SERVED_WITHIN_MS + WAYS * controlWaited;
      const beside = `a process that does nothing answers in ${controlWaited.toFixed(1)} ms`;
      t.ok(waited <= most, `others were served in ${waited.toFixed(0)} ms, at most ${most.toFixed(0)}; ${beside}`);
      staysSmall(t);
    },
  };
}

/** All but one were no longer. */
const nearlyLongest = (values: readonly number[]): number => values.toSorted((a, b) => b - a)[1] ?? Number.NaN;

/** Attempts until the deadline: a place may become free only after a while. */
async function askElsewhere(url: string): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const left = GIVEN_UP_MS - (performance.now() - begun);
    try {
      await answerOf(url, left);
      return performance.now() - begun;
    } catch (error) {
      if (left < 1_000) throw error;
    }
  }
}

function answerOf(url: string, withinMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const ask = url.startsWith('https:') ? requestTls : request;
    const options = { agent: false, timeout: withinMs, ca: LOCALHOST_CERT, servername: 'localhost' };
    const call = ask(url, options, (response) => {
      response.resume().once('end', () => resolve());
      response.once('error', reject);
    });
    call.once('timeout', () => call.destroy(new Error(`no answer of ${url} within ${GIVEN_UP_MS} ms`)));
    call.once('error', reject).end();
  });
}
