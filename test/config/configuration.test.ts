import t from 'tap';
import { dataSchemaOf, type InstallTargetConfiguration, sharedDataSchemas } from '../../config/configuration.ts';
import type { TargetId } from '../../engine/model/ids.ts';

type DataDb = InstallTargetConfiguration['dataDb'];

const direct = { kind: 'direct', server: { host: 'db.example', port: 5432 }, name: 'sites', schema: 'rows' };
const lookup = { kind: 'lookup', lookupCn: 'sites', schema: 'rows' };
const target = (targetId: string, dataDb: object) => ({ targetId: targetId as TargetId, dataDb: dataDb as DataDb });

t.test('targets share that name one schema of one database, whatever role they use', (t) => {
  const targets = [
    target('AlphaDB', { ...direct, username: 'alpha' }),
    target('Lonely', { ...direct, schema: 'other' }),
    target('BetaDB', { ...direct, username: 'beta', server: { host: 'DB.example', port: 5432 } }),
    target('GammaDB', lookup),
    target('DeltaDB', { ...lookup, lookupCn: 'SITES' }),
  ];
  t.strictSame(sharedDataSchemas(targets), [
    { targets: ['AlphaDB', 'BetaDB'], schema: 'rows', database: 'db.example:5432/sites' },
    { targets: ['GammaDB', 'DeltaDB'], schema: 'rows', database: 'sites' },
  ]);
  t.end();
});

t.test('on MariaDB a schema is a database, whichever one connections begin with', (t) => {
  const mariaDb = { ...direct, platform: 'MariaDB', server: { host: 'db.example', port: 3306 } };
  const targets = [
    target('AlphaDB', mariaDb),
    target('BetaDB', { ...mariaDb, name: 'start' }),
    target('GammaDB', { ...mariaDb, schema: 'sites' }),
  ];
  t.strictSame(sharedDataSchemas(targets), [
    { targets: ['AlphaDB', 'BetaDB'], schema: 'rows', database: 'db.example:3306' },
  ]);
  t.end();
});

t.test('another server, port, database, schema, form or case of a schema is another place', (t) => {
  const places = [
    direct,
    { ...direct, server: { host: 'other.example', port: 5432 } },
    { ...direct, server: { host: 'db.example', port: 5433 } },
    { ...direct, name: 'Sites' },
    { ...direct, schema: 'Rows' },
    lookup,
    { ...lookup, lookupCn: 'others' },
  ].map((dataDb) => dataSchemaOf(target('AlphaDB', dataDb)));
  t.equal(new Set(places).size, places.length);
  t.end();
});
