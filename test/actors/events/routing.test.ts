import t from 'tap';
import { routeChange } from '../../../actors/events/routing.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';

const at = { owner: '42' as UserId, dataset: 'abcDEF0123456789' as DatasetId };
const below = (rest: string): string => `${at.owner}/${at.dataset}/${rest}`;
const lanes = (...names: string[]): object => ({ kind: 'lanes', at, lanes: names });
const ignored = { kind: 'ignored' };
const unknown = { kind: 'unknown' };

t.test('a created object concerns the lanes that the design names', async (t) => {
  const table: readonly (readonly [string, object])[] = [
    ['vdi-meta.json', lanes('updateMeta', 'import')],
    ['import-ready.zip', lanes('import')],
    ['install-ready.zip', lanes('install')],
    ['shares/7/share-offer.json', lanes('sharing')],
    ['shares/7/share-receipt.json', lanes('sharing')],
    ['delete-flag', lanes('softDelete')],
    ['revised-flag', lanes('softDelete')],
    ['datasetProperties/a.tsv', lanes('updateMeta')],
    ['vdi-manifest.json', ignored],
    ['upload-error.json', ignored],
    ['documents/readme.txt', ignored],
    ['raw/genes.txt', ignored],
    ['shares/7/other.json', unknown],
    ['shares/seven/share-offer.json', unknown],
    ['something-else', unknown],
  ];
  for (const [rest, route] of table) t.same(routeChange({ kind: 'created', key: below(rest) }), route, rest);
});

t.test('a removed object concerns a lane only when its absence means something', async (t) => {
  const table: readonly (readonly [string, object])[] = [
    ['delete-flag', lanes('reconciliation')],
    ['vdi-meta.json', lanes('hardDelete')],
    ['datasetProperties/a.tsv', lanes('updateMeta')],
    ['import-ready.zip', ignored],
    ['revised-flag', ignored],
    ['shares/7/share-offer.json', lanes('sharing')],
    ['shares/7/share-receipt.json', lanes('sharing')],
    ['raw/genes.txt', ignored],
  ];
  for (const [rest, route] of table) t.same(routeChange({ kind: 'removed', key: below(rest) }), route, rest);
});

t.test("other services' objects are ignored, and keys outside any dataset are unknown", async (t) => {
  t.same(routeChange({ kind: 'created', key: 'reports/abc/report.zip' }), ignored);
  t.same(routeChange({ kind: 'created', key: 'handler/abc/result.tgz' }), ignored);
  for (const key of ['', 'x', '42', '42/', 'me/abc/vdi-meta.json', '0/abc/vdi-meta.json'])
    t.same(routeChange({ kind: 'created', key }), unknown, key);
});

t.test('ids of compatible buckets may hold a dot', async (t) => {
  t.same(routeChange({ kind: 'created', key: '42/abc.1/install-ready.zip' }), {
    kind: 'lanes',
    at: { owner: '42', dataset: 'abc.1' },
    lanes: ['install'],
  });
});
