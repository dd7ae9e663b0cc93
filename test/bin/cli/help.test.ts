// Help texts: complete, and readable on a terminal of 80 columns.

import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ArgumentSpec, OptionSpec } from '../../../bin/cli/command.ts';
import { allCommands, COMMANDS, isGroup } from '../../../bin/cli/command-table.ts';
import { commandHelp, groupHelp, helpFor, mainHelp, sentence, usageOf, WIDTH } from '../../../bin/cli/help.ts';
import { longshore } from '../../support/longshore.ts';

const pages = [
  mainHelp(),
  ...Object.entries(COMMANDS).flatMap(([name, entry]) => (isGroup(entry) ? [groupHelp(name, entry)] : [])),
  ...allCommands().map((command) => commandHelp(command)),
];
const lines = pages.flatMap((page) => page.split('\n'));

t.test('every line fits on a terminal of 80 columns', async (t) => {
  t.strictSame(
    lines.filter((line) => line.length > WIDTH),
    [],
  );
  t.ok(pages.length > 30);
});

t.test('every command has one line in the list of commands', async (t) => {
  for (const [name, { summary }] of Object.entries(COMMANDS))
    t.match(mainHelp(), new RegExp(`^ {2}${name} +${RegExp.escape(summary)}$`, 'm'), name);
});

t.test('a command shows its usage, every argument, every option with its default, and examples', async (t) => {
  t.equal(
    helpFor(['datasets', 'share']),
    `usage: longshore datasets share ID --with USER [OPTIONS]

Offer a dataset to another user, or withdraw the offer.

arguments:
  ID  the dataset's id, as 'longshore datasets list' shows it

options:
  --with USER    the id of the other user (required)
  --revoke       withdraw the offer
  --server URL   the base URL of the server (default: LONGSHORE_SERVER, or the
                 server of 'longshore up' in the data directory)
  --token TOKEN  the bearer token; other users of the machine can see it, so
                 prefer LONGSHORE_TOKEN (default: LONGSHORE_TOKEN; not needed
                 with --data)
  --data DIR     the data directory of 'longshore up' (default:
                 /var/lib/longshore for root, otherwise
                 ~/.local/state/longshore)
  --user N       with --data: the id of the user to act as (default: 1)
  --json         print the result as JSON
  --quiet        show no progress
  -h, --help     show this help

examples:
  longshore datasets share 0VbfWYbontYX1Se4 --with 42
      offers the dataset to user 42
  longshore datasets share 0VbfWYbontYX1Se4 --with 42 --revoke
      withdraws the offer

exit codes:
  0  success
  1  it failed, was refused or was stopped
  2  wrong usage: an unknown command, option or value
  3  the configuration is wrong
  4  a server or another dependency could not be reached, or is not available at
     the moment
`,
  );
});

/** The texts of a table entry: phrases that help, man pages and the reference make sentences of. */
function phrasesOf(name: string): readonly string[] {
  const spec = allCommands().find((one) => one.name === name)?.spec;
  if (!spec) throw new Error(name);
  const described: readonly (ArgumentSpec | OptionSpec)[] = [
    ...Object.values(spec.arguments),
    ...Object.values(spec.options),
  ];
  return [spec.summary, ...described.map(({ what }) => what), ...spec.examples.map(({ what }) => what)];
}

t.test('every text is a phrase: not empty, no capital, no period', async (t) => {
  for (const { name } of allCommands())
    for (const phrase of phrasesOf(name)) t.match(phrase, /^(?![A-Z][a-z])\S.*[^.\s]$/, `${name}: ${phrase}`);
});

t.test('every paragraph is made of whole sentences', async (t) => {
  for (const { name, spec } of allCommands())
    for (const paragraph of [...(spec.description ?? []), sentence(spec.summary)])
      t.match(paragraph, /^[A-Z].*\.$/, `${name}: ${paragraph}`);
});

t.test('every example is a call of the command that it belongs to, with options that it has', async (t) => {
  for (const { name, spec } of allCommands()) {
    for (const { run } of spec.examples) {
      t.ok(run === name || run.startsWith(`${name} `), `${name}: ${run}`);
      for (const [, option = ''] of run.matchAll(/ --([a-z-]+)/g)) t.ok(option in spec.options, `${name}: ${run}`);
    }
  }
});

t.test('only the last argument may be many, and only the last ones optional', async (t) => {
  for (const { name, spec } of allCommands()) {
    const found = Object.values(spec.arguments);
    t.notOk(
      found.slice(0, -1).some(({ many }) => many),
      name,
    );
    const first = found.findIndex(({ optional }) => optional);
    t.ok(first < 0 || found.slice(first).every(({ optional }) => optional), name);
    t.match(usageOf({ name, spec }), `longshore ${name}`);
  }
});

/** The files that a run of the program loads. */
async function loadedBy(t: Test, words: readonly string[]): Promise<readonly string[]> {
  const hook = `import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) { console.error(url); return next(url, context); } });`;
  const env = { ...process.env, NODE_OPTIONS: `--import=${join(t.testdir({ 'tells.mjs': hook }), 'tells.mjs')}` };
  const loaded = (await longshore(words, { env })).stderr.split('\n').filter((line) => line.startsWith('file:'));
  // Before the program itself come the hooks of the test runner.
  return loaded.slice(loaded.findIndex((url) => url.endsWith('/bin/longshore.ts')));
}

/** `help` is a command itself. */
const isCommand = (url: string): boolean => url.includes('/bin/commands/') && !url.endsWith('/about.ts');

t.test('help loads neither a command nor a package, whatever it is asked for', async (t) => {
  for (const words of [['--help'], ['help', 'serve'], ['upload', '--help'], ['datasets', '--help']]) {
    const loaded = await loadedBy(t, words);
    t.ok(loaded.some((url) => url.endsWith('/bin/cli/command-table.ts')));
    t.strictSame(
      loaded.filter((url) => /\/(node_modules|adapters|http|actors|config)\//.test(url) || isCommand(url)),
      [],
      words.join(' '),
    );
  }
});

t.test('a script of a sample plugin does not wait for the command tree', async (t) => {
  const loaded = await loadedBy(t, ['sample-script', 'nonsense', 'import']);
  t.ok(loaded.some((url) => url.endsWith('/bin/commands/sample-script.ts')));
  t.strictSame(
    loaded.filter((url) => /\/bin\/cli\/(tree\/|command-table|help)/.test(url)),
    [],
  );
});
