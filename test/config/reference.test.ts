// The reference of the configuration against the schema that it is made of.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { reference } from '../../config/reference.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';

const made = reference(ROOT_SCHEMA);

t.test('the reference in the tree is the one that the schema gives', async (t) => {
  const kept = readFileSync(join(import.meta.dirname, '..', '..', 'config', 'REFERENCE.md'), 'utf8');
  t.equal(kept, made, 'made by `longshore config reference > config/REFERENCE.md`');
});

t.test('every key says what it is and what is allowed', async (t) => {
  const rows = made.split('\n').filter((line) => line.startsWith('| `'));
  t.ok(rows.length > 300, `${rows.length} keys`);
  const silent = rows.filter((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(2, 4)
      .some((cell) => cell.trim() === ''),
  );
  t.same(silent, []);
});

t.test('a key shows its bounds, its default, whether it is needed, secret, or taken over by a reload', async (t) => {
  const row = (key: string): string => made.split('\n').find((line) => line.startsWith(`| \`${key}\` |`)) ?? '';
  t.match(row('lanes.import.workerCount'), /a whole number 1\.\.20 \| `\d+` \|$/);
  t.match(row('lanes.import.workerCount'), /Taken over by a reload/);
  t.match(row('authentication.adminToken'), /Secret: never printed\./);
  t.match(row('authentication.oauth.issuer'), / \| \*\*needed\*\* \|$/);
});
