// Runs one side of a row in a process of its own, bundled as the product's executable is, so that neither time nor memory
// is that of type stripping. What a side is: a module beside this one that calls `tellOf` with its work.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { RUNTIME_OPTIONS } from '../../engine/runtime/program-files.ts';
import { peakMib } from './processes.ts';

/** What a side tells when it is done. */
export interface Told {
  readonly seconds: number;
  /** The most that the process had resident, MiB. */
  readonly peakMib: number;
  /** Seconds of processor time that the work took, of all threads. */
  readonly cpu: number;
  /** What it did, to be compared with what it should have done. */
  readonly did: unknown;
}

export interface Sides extends AsyncDisposable {
  /** A fresh process; throws unless it tells that it did `expected`. */
  run(file: string, order: unknown, expected: unknown): Promise<Told>;
}

const DEADLINE_MS = 15 * 60_000;

export async function openSides(): Promise<Sides> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-bench-sides-'));
  const bundles = new Map<string, Promise<string>>();
  return {
    async run(file, order, expected) {
      const made = bundles.get(file) ?? bundled(file, dir);
      bundles.set(file, made);
      const told = await runOnce(await made, order);
      const [did, wanted] = [JSON.stringify(told.did), JSON.stringify(expected)];
      if (did !== wanted) throw new Error(`${file} did ${did}, not ${wanted}`);
      return told;
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

/** For the module of a side: does the work it is ordered to do, and tells. */
export async function tellOf<Order>(work: (order: Order) => Promise<unknown>): Promise<void> {
  const [order] = (await once(process, 'message')) as [Order];
  const [begun, used] = [performance.now(), process.cpuUsage()];
  const did = await work(order);
  const seconds = (performance.now() - begun) / 1000;
  const { user, system } = process.cpuUsage(used);
  const told: Told = { seconds, peakMib: peakMib(process.pid), cpu: (user + system) / 1e6, did };
  process.send?.(told, () => process.exit(0));
}

async function runOnce(file: string, order: unknown): Promise<Told> {
  // Ours has the options that the product's threads have, too.
  const execArgv = file.endsWith('-ours.cjs') ? [...RUNTIME_OPTIONS] : [];
  const child = fork(file, [], { execArgv, signal: AbortSignal.timeout(DEADLINE_MS) });
  child.send(order as object);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} ended with ${code} and told nothing`);
  });
  const [told] = (await Promise.race([once(child, 'message'), ended])) as [Told];
  return told;
}

async function bundled(file: string, dir: string): Promise<string> {
  const outfile = join(dir, file.replace(/\.ts$/, '.cjs'));
  await build({
    entryPoints: [join(import.meta.dirname, file)],
    ...{ outfile, bundle: true, platform: 'node', format: 'cjs', target: 'node26', keepNames: true },
    ...{ external: ['pg-native'], logLevel: 'error', logOverride: { 'empty-import-meta': 'silent' } },
  });
  return outfile;
}
