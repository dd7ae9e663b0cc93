// Installs what the tests of this folder start, and runs them: all, or the files that are named.
//   node test/stack/run.ts [--without NAME ..] [FILE ..]     leaves out programs, and the tests that need them

import { spawnSync } from 'node:child_process';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { filesOf, root, SUITES, type Suite } from '../run/suites.ts';
import { testsWithout } from './programs.ts';

const { values, positionals } = parseArgs({
  options: { without: { type: 'string', multiple: true, default: [] as string[] } },
  allowPositionals: true,
});
const run = (script: string, ...args: readonly string[]): void => {
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};
run('test/stack/install.ts', ...values.without.map((name) => `--without=${name}`));
const all = filesOf(SUITES.stack as Suite);
const tests = testsWithout(
  values.without,
  all.map((file) => join(root, file)),
).map((file) => relative(root, file));
const left = all.filter((file) => !tests.includes(file));
if (left.length > 0) console.log(`left out, without ${values.without.join(', ')}: ${left.join(' ')}`);
run('test/run/suite.ts', '--suite', 'stack', ...(positionals.length > 0 ? positionals : tests));
