import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { UsageError } from '../../../bin/cli/command.ts';
import { COMMANDS } from '../../../bin/cli/command-table.ts';
import { completion } from '../../../bin/commands/completion.ts';
import { LANES } from '../../../engine/model/event.ts';
import { run } from '../../support/run-command.ts';

const execute = promisify(execFile);
const scripts = Object.fromEntries(
  await Promise.all(['bash', 'zsh', 'fish'].map(async (shell) => [shell, (await run(completion, [shell])).out])),
) as Record<string, string>;

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
    ["longshore datasets ''", ['list', 'show', 'download', 'revise', 'delete', 'undelete', 'share']],
    ['longshore datasets list --owner', ['--ownership']],
    ['longshore datasets list --ownership s', ['shared']],
    ["longshore upload --visibility ''", ['private', 'protected', 'public', 'controlled']],
    ['longshore up --data g', ['genes']],
    // Left to bash, which then offers files.
    ['longshore serve --config g', []],
    ['longshore upload g', []],
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
  for (const [name, { load }] of Object.entries(COMMANDS)) {
    const command = await load();
    t.equal(command.name, name);
    t.ok(command.usage.startsWith(`longshore ${name}`), name);
    for (const option of [...Object.keys(command.options), 'help']) {
      const at = `${name} --${option}`;
      t.match(scripts.bash, new RegExp(`^    ${name}\\) options='[^']*--${option}[ ']`, 'm'), at);
      t.match(scripts.zsh, new RegExp(`^    ${name}\\) _arguments .*'\\*?--${option}['=]`, 'm'), at);
      t.match(scripts.fish, new RegExp(`^complete .*__fish_seen_subcommand_from ${name}' -l ${option}( |$)`, 'm'), at);
    }
  }
});

t.test('every usage names the options there are', async (t) => {
  for (const [name, { load }] of Object.entries(COMMANDS)) {
    const { usage, options } = await load();
    for (const [, option = ''] of usage.matchAll(/--([a-z-]+)/g)) t.ok(option in options, `${name}: --${option}`);
    for (const option of Object.keys(options)) t.match(usage, `--${option}`, `${name}: --${option}`);
  }
});

t.test('other shells are told which there are', async (t) => {
  await t.rejects(run(completion, ['tcsh']), new UsageError("'tcsh': must be one of bash, zsh, fish"));
  await t.rejects(run(completion, []), new UsageError('expected one of bash, zsh, fish'));
});
