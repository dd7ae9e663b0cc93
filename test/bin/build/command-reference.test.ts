import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commandReference } from '../../../bin/build/command-reference.ts';
import { allCommands } from '../../../bin/cli/command-table.ts';
import { optionLabel } from '../../../bin/cli/help.ts';
import { ROOT } from '../../support/longshore.ts';

t.test('docs/commands.md is up to date; npm run docs:commands writes it', async (t) => {
  t.equal(readFileSync(join(ROOT, 'docs', 'commands.md'), 'utf8'), commandReference());
});

t.test('it has every command and every option', async (t) => {
  const sections = commandReference().split('\n### ');
  for (const { name, spec } of allCommands()) {
    const section = sections.find((one) => one.startsWith(`longshore ${name}\n`)) ?? '';
    for (const [option, about] of Object.entries(spec.options))
      t.ok(section.includes(`\n| \`${optionLabel(option, about).replaceAll('|', '\\|')}\` |`), `${name} --${option}`);
  }
});
