// Completion in the real zsh and fish; bash, which is everywhere, has its test in test/bin.

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { completion } from '../../bin/commands/completion.ts';
import { run } from '../support/run-command.ts';

const execute = promisify(execFile);

async function scriptFor(t: Test, shell: string): Promise<string> {
  const script = join(t.testdir(), `completion.${shell}`);
  await writeFile(script, (await run(completion, [shell])).out);
  return script;
}

t.test('fish completes commands, options and values', async (t) => {
  const script = await scriptFor(t, 'fish');
  const lines = ['longshore ups', 'longshore jobs --lane im', 'longshore config ch', 'longshore datasets --owne'];
  const calls = lines.map((line) => `complete -C '${line}'; echo .`);
  const { stdout } = await execute('fish', ['--no-config', '-c', [`source ${script}`, ...calls].join('\n')], {
    // Files of the working directory are offered too.
    cwd: t.testdirName,
    env: { ...process.env, HOME: t.testdirName },
  });
  t.strictSame(
    stdout.split('.\n').map((answer) => answer.trim()),
    ['', 'import', 'check', '--ownership', ''],
  );
});

t.test('zsh takes the function for the command', async (t) => {
  const script = await scriptFor(t, 'zsh');
  await execute('zsh', ['-f', '-n', script]);
  const program = `autoload -Uz compinit; compinit -D -u; source ${script}; print $_comps[longshore]; functions _longshore`;
  const { stdout, stderr } = await execute('zsh', ['-f', '-c', program]);
  t.equal(stderr, '');
  t.match(stdout, /^_longshore\n_longshore \(\) \{/);
});
