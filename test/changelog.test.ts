// The changelog names the version of the program and the migrations that it brings.

import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';

const ROOT = join(import.meta.dirname, '..');
const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

/** What the entry of the newest version calls the schemas, by their folder. */
const SCHEMAS = { cache: 'cache database', control: 'control schemas', report: 'reports', access: 'dataset access' };

t.test('the newest entry is about the version of the program', async (t) => {
  const [newest = ''] = changelog.split(/^## \[/m).slice(1);
  t.match(newest, new RegExp(`^(Unreleased\\]\\n[\\s\\S]*?\\b)?${version.replaceAll('.', '\\.')}\\b`));
});

t.test('the last migration of every schema is named', async (t) => {
  for (const [folder, name] of Object.entries(SCHEMAS)) {
    const numbers = globSync(`engine/adapters/migrations/${folder}/*.sql`, { cwd: ROOT }).map((file) =>
      Number(basename(file).slice(0, 4)),
    );
    const last = Math.max(...numbers);
    t.match(changelog.replaceAll(/\s+/g, ' '), new RegExp(`${name} (\\d+ (to|and) )?${last}\\b`), folder);
  }
});
