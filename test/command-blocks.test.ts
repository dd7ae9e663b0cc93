// Every block of commands on a page is run by a test, or says why it is not.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { COMMAND_BLOCKS, type CommandBlock, commandBlock } from './support/command-blocks.ts';
import { blocks, pages, ROOT } from './support/readmes.ts';

const table = Object.entries(COMMAND_BLOCKS) as readonly [keyof typeof COMMAND_BLOCKS, CommandBlock][];
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

t.test('every block of every page is in the table, once', async (t) => {
  const shown = pages().flatMap((page) => ['sh', 'bash', 'console'].flatMap((language) => blocks(page, language)));
  const known = table.map(([name]) => commandBlock(name));
  t.same([...shown].sort(), [...known].sort());
});

t.test('a block is run by the test that is named, or has a reason', async (t) => {
  for (const [name, { by, not }] of table) {
    if (by !== undefined) t.match(read(by), `commandBlock('${name}')`, `${by} runs ${name}`);
    else t.ok(not && not.lines === undefined && not.why.length > 20, name);
    for (const line of not?.lines ?? []) t.match(commandBlock(name), line, `${name} has the line that is not run`);
  }
});

t.test('what is not run for being a suite is run by .ci/run', async (t) => {
  const ci = read('.ci/run');
  const lines = [...commandBlock('develop').matchAll(/^npm (?:run )?([\w:-]+)/gm)].map(([, script]) => script ?? '');
  t.ok(lines.length > 5);
  // `check` is the two that .ci/run runs one by one.
  const run = (script: string): boolean => new RegExp(`npm (run )?(--silent )?${script}( |$)`, 'm').test(ci);
  const missing = lines.filter(
    (script) => !run(script) && !(script === 'check' && run('check:types') && run('check:style')),
  );
  t.same(missing, []);
  t.match(commandBlock('develop'), 'bash .ci/run');
});
