// docs/runbooks.md has a section for every alert, the alerts lead there, and its commands exist.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import t from 'tap';
import { packageFiles } from '../bin/build/package-files.ts';
import { allCommands } from '../bin/cli/command-table.ts';
import { RULES } from './observability/rules.ts';
import { pageCommands, RUNBOOKS, SECTIONS } from './observability/runbook.ts';
import { anchors, ROOT } from './support/readmes.ts';

const alerts = RULES.filter(({ alert }) => alert !== undefined);
const PARTS = ['For users', 'Confirm', 'Causes, most likely first, and what to do', 'It is over when', 'Do not'];

t.test('every alert has a section, in the order of the rules, and every section an alert', async (t) => {
  const known = new Set<string>();
  for (const { alert = '' } of alerts) known.add(alert);
  t.strictSame([...SECTIONS.keys()].sort(), [...known].sort());
  for (const [alert, text] of SECTIONS)
    t.strictSame(
      [...text.matchAll(/^\*\*(.+?)\.?\*\*/gm)].map(([, part]) => part),
      PARTS,
      alert,
    );
});

t.test('every alert leads to its section where the package installs the page', async (t) => {
  const edition = { version: '1', debianVersion: '1-1', maintainer: 'A <a@b>', date: new Date(0) };
  const page = packageFiles(ROOT, edition).find(({ to }) => to.endsWith(`/${RUNBOOKS}`));
  const known = anchors(readFileSync(join(ROOT, RUNBOOKS), 'utf8'));
  for (const { alert = '', annotations } of alerts) {
    t.equal(annotations?.runbook_url, `file:///${page?.to}#${alert.toLowerCase()}`, alert);
    t.ok(known.includes(alert.toLowerCase()), alert);
  }
});

t.test('every command of the page exists, with its options and arguments', async (t) => {
  const commands = pageCommands();
  t.ok(commands.length > 50);
  for (const command of new Set(commands)) {
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(1);
    const found = allCommands()
      .filter(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
      .sort((a, b) => b.name.length - a.name.length)[0];
    if (!found) {
      t.fail(command);
      continue;
    }
    const { spec, name } = found;
    const options = Object.fromEntries(Object.entries(spec.options).map(([key, { type }]) => [key, { type }]));
    const args = words.slice(name.split(' ').length);
    t.doesNotThrow(() => {
      const { positionals } = parseArgs({ args, options, allowPositionals: true });
      if (positionals.length > Object.keys(spec.arguments).length) throw new Error(`too many words: ${positionals}`);
    }, command);
  }
});
