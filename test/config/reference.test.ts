// The reference of the configuration against the schema that it is made of.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import t from 'tap';
import { jsonSchema, reference } from '../../config/reference.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { changed, completeDocument } from './complete-document.ts';

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
  t.match(row('lanes.import.workerCount'), /a whole number 1\.\.20: .* start another process \| `\d+` \|$/);
  t.match(row('lanes.import.workerCount'), /Reload: applies/);
  t.match(row('authentication.adminToken'), /Secret: never printed\./);
  t.match(row('authentication.oauth.issuer'), / \| \*\*required\*\* \|$/);
});

const schema = jsonSchema();

t.test('is JSON Schema 2020-12 by the strictest reading', async (t) => {
  t.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, formats: fullFormats });
  const check = ajv.compile(schema);
  for (const fixture of ['contract-form', 'embedded-form'] as const) {
    const document = await completeDocument(fixture);
    t.ok(check(document), `${fixture}: ${JSON.stringify(check.errors)}`);
    t.notOk(check(changed(document, 'installer.lanes.import.workerCount', 21)));
    t.notOk(check(changed(document, 'installer.daemons.pruner.retentionWindow', '1h 1d')));
    t.notOk(check(changed(document, 'installer.cacheDb.server', 'host:65536')));
    t.notOk(check(changed(document, 'installer.objectStore.driver', 'other')));
    t.notOk(check(changed(document, 'installer.installTargets.0.controlDb', undefined)));
  }
});

t.test('documents every key and holds no annotation of ours', async (t) => {
  const undocumented: string[] = [];
  const visit = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, child] of Object.entries(node)) {
      if (key.startsWith('x-')) t.fail(`${path}.${key}`);
      if (key === 'properties' && !/oneOf|\.if$/.test(path))
        for (const [name, property] of Object.entries(child as Record<string, { description?: string }>))
          if (!property.description) undocumented.push(`${path}.${name}`);
      visit(child, `${path}.${key}`);
    }
  };
  visit(schema, '');
  t.same(undocumented, []);
});

t.test('defaults stand in it and obey it', async (t) => {
  const ajv = new Ajv2020({ strict: false, formats: fullFormats });
  let defaults = 0;
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('default' in node && !('properties' in node && !Array.isArray(node))) {
      defaults++;
      t.ok(ajv.validate(node, node.default), JSON.stringify(node).slice(0, 80));
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(schema);
  t.ok(defaults > 150, `${defaults} defaults`);
});
