// The changelog is about the program as it is: its newest entry names the version, and says how to come from the one before.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const ROOT = join(import.meta.dirname, '..');
const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const entries = changelog.split(/^## \[/m).slice(1);

t.test('the newest entry is about the version of the program', async (t) => {
  t.match(entries[0], new RegExp(`^(Unreleased\\]\\n[\\s\\S]*?\\b)?${version.replaceAll('.', '\\.')}\\b`));
});

t.test('every entry says how to upgrade', async (t) => {
  for (const entry of entries) t.match(entry, /^### Upgrading\n\n\S/m);
});
