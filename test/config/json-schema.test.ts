import { Ajv2020 } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import t from 'tap';
import { jsonSchema } from '../../config/json-schema.ts';
import { changed, completeDocument } from './complete-document.ts';

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
