import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { UsageError } from '../../../bin/cli/command.ts';
import { allCommands, COMMANDS } from '../../../bin/cli/command-table.ts';
import { completion } from '../../../bin/commands/completion.ts';
import { LANES } from '../../../engine/model/event.ts';
import { LOG_LEVELS } from '../../../engine/model/log-level.ts';
import { run } from '../../support/run-command.ts';

const execute = promisify(execFile);
const scripts = Object.fromEntries(
  await Promise.all(['bash', 'zsh', 'fish'].map(async (shell) => [shell, (await run(completion, [shell])).out])),
) as Record<string, string>;
const SUBCOMMANDS = ['list', 'show', 'download', 'revise', 'delete', 'undelete', 'retry', 'share', '--help'];

t.test('a real bash completes commands, options and values, and files where files go', async (t) => {
  const dir = t.testdir();
  await mkdir(join(dir, 'genes'));
  await writeFile(join(dir, 'genes.yaml'), '');
  const script = join(dir, 'completion.bash');
  await writeFile(script, scripts.bash ?? '');
  const lines: readonly (readonly [words: string, expected: readonly string[]])[] = [
    ["longshore ''", [...Object.keys(COMMANDS), '--help', '--version']],
    ['longshore up', ['up', 'upload']],
    ["longshore jobs --lane ''", LANES],
    ['longshore jobs --lane = im', ['import']],
    ['longshore jobs --lane =', LANES],
    ['longshore jobs --st', ['--state']],
    ["longshore datasets ''", SUBCOMMANDS],
    ['longshore datasets li', ['list']],
    ['longshore datasets list --owner', ['--ownership']],
    ['longshore datasets list --ownership s', ['shared']],
    ['longshore datasets show --owner', []],
    ["longshore log-level ''", LOG_LEVELS],
    ['longshore help dat', ['datasets']],
    ["longshore help datasets ''", SUBCOMMANDS],
    ["longshore upload --visibility ''", ['private', 'protected', 'public', 'controlled']],
    ['longshore up --data g', ['genes']],
    // Left to bash, which then offers files.
    ['longshore serve --config g', []],
    ['longshore upload g', []],
    ['longshore config check g', []],
    ["longshore upload --name ''", []],
    ["longshore nonsense ''", []],
  ];
  const calls = lines.map(
    ([words]) => `COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _longshore; echo "\${COMPREPLY[*]}"`,
  );
  const program = ['set -u', `source '${script}'`, 'complete -p longshore', ...calls].join('\n');
  const { stdout, stderr } = await execute('bash', ['--norc', '-c', program], { cwd: dir });
  t.equal(stderr, '');
  const [registered, ...answers] = stdout.split('\n');
  t.equal(registered, 'complete -o default -F _longshore longshore');
  for (const [at, [words, expected]] of lines.entries()) t.equal(answers[at], expected.join(' '), words);
});

t.test('every option of every command is completed in every shell', async (t) => {
  for (const { name, spec } of allCommands()) {
    const words = name.split(' ');
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
    for (const option of [...Object.keys(spec.options), 'help']) {
      const at = `${name} --${option}`;
      t.match(scripts.bash, new RegExp(`^    '${name}'\\) options='[^']*--${option}[ ']`, 'm'), at);
      t.match(scripts.zsh, new RegExp(`^ +${words.at(-1)}\\) _arguments .*'\\*?--${option}(=|\\[)`, 'm'), at);
      t.match(scripts.fish, new RegExp(`^complete -c longshore -n '${seen}' -l ${option} `, 'm'), at);
    }
  }
});

t.test('other shells are told which there are', async (t) => {
  await t.rejects(run(completion, ['tcsh']), new UsageError("'tcsh': must be one of bash, zsh, fish"));
  await t.rejects(run(completion, []), new UsageError('SHELL is required: the shell, one of bash, zsh, fish'));
});
