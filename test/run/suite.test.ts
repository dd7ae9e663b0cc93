import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

t.test('a command line that is wrong starts nothing', (t) => {
  const TMPDIR = t.testdir({});
  for (const [args, message] of [
    [['test/no/such.test.ts'], "no test at 'test/no/such.test.ts'\n"],
    [['--seed', 'x'], "--seed must be a whole number from 1, not 'x'\n"],
  ] as const) {
    const program = join(import.meta.dirname, 'suite.ts');
    const { status, stderr } = spawnSync(process.execPath, [program, ...args], {
      env: { ...process.env, TMPDIR },
      encoding: 'utf8',
    });
    t.same([status, stderr], [2, message]);
    t.same(readdirSync(TMPDIR), [], 'no server was given a folder');
  }
  t.end();
});
