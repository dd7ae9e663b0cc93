// The pages that list the commands, against the commands.

import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';
import { COMMANDS } from '../../../bin/cli/command-table.ts';
import { codeSpans, ROOT } from '../../support/readmes.ts';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

t.test('docs/operate.md lists every command, and no other', async (t) => {
  const list = /^## Commands\n\n```\n([\s\S]*?)^```$/m.exec(read('docs/operate.md'))?.[1] ?? '';
  // Several commands may share a line, and a command may have several.
  const named = list.split('\n').flatMap((line) => {
    const [, names = ''] = /^longshore ([a-z-]+(?: \| [a-z-]+)*)/.exec(line) ?? [];
    return names === '' ? [] : names.split(' | ');
  });
  t.strictSame([...new Set(named)].sort(), Object.keys(COMMANDS).sort());
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
