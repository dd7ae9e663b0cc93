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
  const expected: Readonly<Record<string, readonly string[]>> = {
    'longshore ups': [],
    'longshore jobs --lane im': ['import'],
    'longshore log-level de': ['debug'],
    'longshore config ch': ['check'],
    'longshore datasets sh': ['share', 'show'],
    'longshore datasets list --owne': ['--ownership'],
    'longshore datasets show --owne': [],
    'longshore help dat': ['datasets'],
  };
  const calls = Object.keys(expected).map((line) => `complete -C '${line}'; echo .`);
  const { stdout } = await execute('fish', ['--no-config', '-c', [`source ${script}`, ...calls].join('\n')], {
    // Files of the working directory are offered too.
    cwd: t.testdirName,
    env: { ...process.env, HOME: t.testdirName },
  });
  // A word, a tab, what it is.
  const answers = stdout.split('.\n').map((answer) => [...answer.matchAll(/^(\S+)/gm)].map(([word]) => word));
  for (const [at, [line, words]] of Object.entries(expected).entries()) t.strictSame(answers[at], words, line);
});

t.test('zsh takes the function for the command', async (t) => {
  const script = await scriptFor(t, 'zsh');
  await execute('zsh', ['-f', '-n', script]);
  const program = `autoload -Uz compinit; compinit -D -u; source ${script}; print $_comps[longshore]; functions _longshore`;
  const { stdout, stderr } = await execute('zsh', ['-f', '-c', program]);
  t.equal(stderr, '');
  t.match(stdout, /^_longshore\n_longshore \(\) \{/);
});
