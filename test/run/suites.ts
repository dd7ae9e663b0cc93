// The suites: which test files belong to which, and how they are run.

import { globSync } from 'node:fs';
import { join } from 'node:path';

export interface Suite {
  /** Files whose paths begin with one of these. */
  readonly tests: readonly string[];
  /** Less those whose paths begin with one of these. */
  readonly exclude: readonly string[];
  /** For one file on a busy machine: a net for what hangs, never a bound that a test relies on. */
  readonly timeoutSeconds: number;
  /** Files that run at once. */
  readonly jobs: number;
}

const CONTRACT = 'test/e2e/contract-';
const MEMORY = 'test/e2e/memory';
/** What needs a real PostgreSQL, processes, sockets or foreign programs, or takes longer for another reason. */
const INTEGRATION = [
  'actors/daemons/',
  'actors/handler/',
  'actors/plugin-host/',
  'actors/install-statements',
  'actors/quota-life',
  'actors/shared-data-postgres',
  'bin/',
  'config/samples/',
  'engine/adapters/',
  'engine/archive/foreign-tools',
  'engine/archive/zip-reader',
  'engine/runtime/joined-signal',
  'engine/threads/worker-pool',
  'http/access/',
  'http/kernel/pipeline/audited-routes',
  'http/handler/',
  'http/installer/',
  'http/list-bytes',
  'http/kernel/openapi/openapi',
  'http/plugin-host/',
  'http/report/',
  'http/kernel/server/server',
].map((at) => `test/${at}`);
/** Everything that can go wrong, one by one: many runs of whole stories. */
const MATRIX = [
  ...['actors/crash', 'actors/reconciliation', 'actors/reconciler-', 'actors/rebuild'],
  ...['http/access/crash', 'http/access/crowd', 'http/access/end-user-patch'],
].map((at) => `test/${at}`);
const SHORT = ['crash', 'datasets', 'life', 'newcomer', 'up'].map((name) => `test/e2e/${name}.test.ts`);
const PROGRAM = ['attack', 'documents', 'e2e', 'binary', 'browser', 'stack', 'observability', 'simulation'].map(
  (at) => `test/${at}/`,
);

export const SUITES: Readonly<Record<string, Suite>> = {
  unit: { tests: ['test/'], exclude: [...PROGRAM, ...INTEGRATION, ...MATRIX], timeoutSeconds: 600, jobs: 4 },
  integration: { tests: INTEGRATION, exclude: MATRIX, timeoutSeconds: 600, jobs: 4 },
  matrix: { tests: [...MATRIX, 'test/simulation/'], exclude: [], timeoutSeconds: 600, jobs: 2 },
  e2e: { tests: ['test/e2e/'], exclude: [CONTRACT, MEMORY], timeoutSeconds: 600, jobs: 2 },
  // The main path through the real program; the rest of `e2e` is in slow-suites.ts.
  'e2e-short': { tests: SHORT, exclude: [], timeoutSeconds: 600, jobs: 2 },
  contract: { tests: [CONTRACT], exclude: [], timeoutSeconds: 600, jobs: 2 },
  memory: { tests: [MEMORY], exclude: [], timeoutSeconds: 900, jobs: 1 },
  stack: { tests: ['test/stack/'], exclude: [], timeoutSeconds: 600, jobs: 2 },
  observability: { tests: ['test/observability/'], exclude: [], timeoutSeconds: 600, jobs: 2 },
  // The executable, and what starts and stops it in all ways.
  binary: {
    tests: ['test/binary/', 'test/e2e/serve', 'test/e2e/up'],
    exclude: ['test/e2e/upload'],
    timeoutSeconds: 600,
    jobs: 1,
  },
  // Attacks on the running program.
  attack: { tests: ['test/attack/'], exclude: [], timeoutSeconds: 600, jobs: 1 },
  // What other tools make of the OpenAPI documents.
  documents: { tests: ['test/documents/'], exclude: [], timeoutSeconds: 600, jobs: 1 },
  // For as long as LONGSHORE_FUZZ_SECONDS says, for each of five documents.
  fuzz: { tests: ['test/stack/fuzz-documents'], exclude: [], timeoutSeconds: 4_500, jobs: 1 },
  browser: { tests: ['test/browser/'], exclude: [], timeoutSeconds: 600, jobs: 1 },
};

export const root = join(import.meta.dirname, '..', '..');

export function isOf({ tests, exclude }: Suite, file: string): boolean {
  return tests.some((start) => file.startsWith(start)) && !exclude.some((start) => file.startsWith(start));
}

export function filesOf(suite: Suite): readonly string[] {
  return globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] })
    .filter((file) => isOf(suite, file))
    .sort((a, b) => Number(isSlow(b)) - Number(isSlow(a)) || (a < b ? -1 : 1));
}

/** Threads, databases and hostile archives take longest: begun last, they would keep one core busy alone. */
function isSlow(file: string): boolean {
  return /^test\/(engine|actors\/crash|http\/kernel\/server)/.test(file);
}
