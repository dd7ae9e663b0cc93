// Runs the tests that hold the promises about compatibility, and no others: `npm run test:compatibility`.

import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { rowsOf } from '../promises.ts';
import { root } from './suites.ts';

const tests = globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] });
const named = rowsOf('compatibility').flatMap(({ heldBy }) => heldBy.map(({ file }) => file));
/** A conformance suite is run by the tests that import it. */
const runBy = (file: string): readonly string[] =>
  file.endsWith('.test.ts')
    ? [file]
    : tests.filter((test) => readFileSync(join(root, test), 'utf8').includes(`/${basename(file)}'`));
const files = [...new Set(named.flatMap(runBy))].sort();
const suite = ['test/run/suite.ts', '--suite', 'stack', ...files];
process.exitCode = spawnSync(process.execPath, suite, { cwd: root, stdio: 'inherit' }).status ?? 1;
