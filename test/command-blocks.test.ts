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

t.test('the block for developers names scripts that exist, and every tier of the tests', async (t) => {
  const { scripts }: { scripts: Readonly<Record<string, string>> } = JSON.parse(read('package.json'));
  const block = commandBlock('develop');
  const named = [...block.matchAll(/^npm (?:run )?([\w:-]+)/gm)].map(([, script]) => script ?? '');
  t.same(
    named.filter((script) => scripts[script] === undefined),
    [],
  );
  for (const tier of ['npm test', 'bash .ci/run', 'npm run test:full']) t.match(block, tier);
});
