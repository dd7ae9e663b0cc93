// Runs a test file on the unchanged tree and looks at what it ran.

import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Measured } from './coverage-map.ts';
import { joined, type Ranges, rangesOf, type ScriptCoverage } from './covered-ranges.ts';
import type { TestRun } from './test-run.ts';
import type { WorkingCopy } from './working-copy.ts';

/** The longest suite gives a file so long. */
const LIMIT_MS = 300_000;

export async function measure(
  test: string,
  copy: WorkingCopy,
  isSource: (path: string) => boolean,
  signal: AbortSignal,
): Promise<Measured & { readonly failure: string }> {
  const reports = copy.pathOf('.v8');
  await mkdir(reports, { recursive: true });
  try {
    const run = await copy.run(test, LIMIT_MS, signal, reports);
    if (run.end === 'passed') return { ...outcome(run), ran: await ranIn(reports, copy, isSource) };
    // Some tests look at their own environment or memory, and do not pass while V8 counts.
    return { ...outcome(await copy.run(test, LIMIT_MS, signal)), ran: undefined };
  } finally {
    await rm(reports, { recursive: true, force: true });
  }
}

const outcome = ({ end, ms, failure }: TestRun) => ({
  passed: end === 'passed',
  ms: Math.round(ms),
  failure: end === 'timeout' ? `not over after ${LIMIT_MS} ms` : failure,
});

/** One report for each process and thread; a thread that is ended by force leaves none. */
async function ranIn(
  reports: string,
  copy: WorkingCopy,
  isSource: (path: string) => boolean,
): Promise<ReadonlyMap<string, Ranges>> {
  const root = `${copy.pathOf('.')}/`;
  const found = new Map<string, Ranges>();
  for (const name of await readdir(reports)) {
    for (const script of await reportIn(join(reports, name))) {
      // Modules of Node and data URLs are no files.
      const path = script.url.startsWith('file://') ? fileURLToPath(script.url) : '';
      const source = path.slice(root.length);
      if (path.startsWith(root) && isSource(source))
        found.set(source, joined(found.get(source) ?? [], rangesOf(script)));
    }
  }
  return found;
}

async function reportIn(file: string): Promise<readonly ScriptCoverage[]> {
  try {
    return (JSON.parse(await readFile(file, 'utf8')) as { readonly result: readonly ScriptCoverage[] }).result;
  } catch {
    // Cut short together with its process.
    return [];
  }
}
