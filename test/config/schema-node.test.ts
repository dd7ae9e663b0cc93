// The table of live settings in docs/configure.md against the schema.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { LIVE_KINDS, liveSettings } from '../../config/schema-node.ts';

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'configure.md'), 'utf8');
const section = /^## Tuning while running\n([\s\S]*?)^## /m.exec(PAGE)?.[1] ?? '';
const rows = [...section.matchAll(/^\| `(.+?)` \| (.+?) \|$/gm)].map(([, path = '', effect = '']) => ({
  path,
  effect,
}));

/** The lanes are keys of the schema; people are told of all at once. */
const asTold = (path: string): string => path.replace(/^installer\.lanes\.\w+\./, 'installer.lanes.*.');

t.test('the table names every live setting, how it takes effect, and no other', async (t) => {
  const told = liveSettings(ROOT_SCHEMA).map(({ path, kind }) => ({ path: asTold(path), effect: LIVE_KINDS[kind] }));
  t.strictSame(rows, [...new Map(told.map((row) => [row.path, row])).values()]);
  const lanes = Object.keys(ROOT_SCHEMA.properties?.installer?.properties?.lanes?.properties ?? {});
  for (const key of ['inMemoryQueueSize', 'workerCount'])
    t.strictSame(
      told.filter(({ path }) => path === `installer.lanes.*.${key}`).length,
      lanes.length,
      `${key} of every lane`,
    );
});
