// The command tree, and the page that lists the commands' files.

import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';
import { parse } from '../../../bin/cli/arguments.ts';
import { UsageError } from '../../../bin/cli/command.ts';
import { allCommands, findCommand } from '../../../bin/cli/command-table.ts';
import { codeSpans, ROOT } from '../../support/readmes.ts';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

t.test('every command loads the command that it describes', async (t) => {
  for (const { name, spec } of allCommands()) t.equal((await spec.load()).spec, spec, name);
});

t.test('an option of a sibling is unknown, and so is a word that every object has', async (t) => {
  const list = findCommand(['datasets', 'list', '--revoke']);
  t.match(list, { kind: 'command', name: 'datasets list', rest: ['--revoke'] });
  if (list.kind === 'command') t.throws(() => parse(list.rest, list.spec), new UsageError("unknown option '--revoke'"));
  t.match(findCommand(['datasets']), { kind: 'group', rest: [] });
  t.match(findCommand(['datasets', 'constructor']), { kind: 'group', rest: ['constructor'] });
  t.match(findCommand(['constructor']), { kind: 'unknown', rest: ['constructor'] });
  t.match(findCommand(['up', 'x']), { kind: 'command', name: 'up', rest: ['x'] });
});

t.test('bin/commands/README.md says of every file whom it is for', async (t) => {
  const file = 'bin/commands/README.md';
  const named = codeSpans({ file, text: read(file) });
  const files = globSync('bin/commands/*.ts', { cwd: ROOT }).map((path) => basename(path));
  t.ok(files.length > 10);
  t.strictSame(
    files.filter((name) => !named.includes(name)),
    [],
  );
});
