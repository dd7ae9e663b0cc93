import t from 'tap';
import { changesBetween } from '../../config/changes.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { LIVE_KINDS, liveSettings } from '../../config/schema-node.ts';
import { secretsIn } from '../../config/secrets.ts';
import { shownSettings } from '../../config/shown-settings.ts';
import { completeDocument } from './complete-document.ts';

for (const fixture of ['contract-form', 'embedded-form'] as const)
  t.test(`each setting is shown once, and no secret: ${fixture}`, async (t) => {
    const document = await completeDocument(fixture);
    const shown = shownSettings(document);
    const paths = shown.map(({ path }) => path);
    t.equal(new Set(paths).size, paths.length);
    const { unchanged } = changesBetween(ROOT_SCHEMA, document, document, '/etc/longshore');
    t.ok(
      Math.abs(paths.length - unchanged) < unchanged / 5,
      `${paths.length} shown, ${unchanged} compared by a reload`,
    );
    const text = JSON.stringify(shown);
    const secrets = secretsIn(ROOT_SCHEMA, document).filter((secret) => secret.length > 5);
    t.ok(secrets.length > 3, `${secrets.length} secrets`);
    t.strictSame(
      secrets.filter((secret) => text.includes(secret)),
      [],
    );
    t.strictSame(
      shown.find(({ path }) => path === 'installer.cacheDb.password'),
      { path: 'installer.cacheDb.password', value: '[hidden]' },
    );
  });

t.test('settings that a reload applies say how, and all of them are shown', async (t) => {
  const shown = shownSettings(await completeDocument('contract-form'));
  t.strictSame(
    shown.find(({ path }) => path === 'installer.lanes.import.workerCount'),
    { path: 'installer.lanes.import.workerCount', value: 20, live: LIVE_KINDS['lane-bounds'] },
  );
  const patterns = liveSettings(ROOT_SCHEMA).map(({ path }) => new RegExp(`^${path.replaceAll('.*', '\\.[^.]+')}$`));
  for (const pattern of patterns)
    t.ok(
      shown.some(({ path, live }) => pattern.test(path) && live !== undefined),
      String(pattern),
    );
});

t.test('lists of plain values are one setting, and lists of sections are many', async (t) => {
  const shown = shownSettings(await completeDocument('contract-form'));
  const types = shown.filter(({ path }) => path.startsWith('installer.plugins.genelist.dataTypes'));
  t.ok(types.some(({ path }) => /dataTypes\[0\]\.name$/.test(path)));
  t.ok(
    types.some(({ value }) => Array.isArray(value)),
    'extensions',
  );
});
