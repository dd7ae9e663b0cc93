import t from 'tap';
import { installerRules } from '../../config/installer-rules.ts';
import { fillDefaults } from '../../config/load.ts';
import { Cursor, displayPath } from '../../config/path.ts';
import { processRules } from '../../config/process-rules.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { changed, completeDocument, type Document } from './complete-document.ts';

const contract = await completeDocument('contract-form');
const embedded = await completeDocument('embedded-form');

/** What the rules find, as `path: found`. */
function faultsOf(asWritten: unknown): readonly string[] {
  const cursor = new Cursor(fillDefaults(ROOT_SCHEMA, asWritten));
  const findings = [...installerRules(cursor, () => undefined), ...processRules(cursor, new Cursor(asWritten))];
  return findings.map(({ path, found }) => `${displayPath(path)}: ${found}`);
}
/** The contract's form with values changed at dotted paths. */
const withChanges = (changes: Record<string, unknown>, document: Document = contract): readonly string[] =>
  faultsOf(Object.entries(changes).reduce((at, [path, value]) => changed(at, path, value), document));

const [I0, I1, I2] = [0, 1, 2].map((at) => `installer.installTargets.${at}`);
const [T0, T1, T2] = [0, 1, 2].map((at) => `installer.installTargets[${at}]`);
const AUDIENCE = 'containerCore.authentication.oauth.audience';
const GENELIST = 'installer.plugins.genelist.dataTypes';
const QUEUE = 'installer.queueBroker.driver';
const SHARED_CHANNEL = Object.fromEntries(
  ['install', 'sharing'].map((lane) => [`installer.lanes.${lane}.eventChannel`, 'shared']),
);
const NO_SITE = { 'access.siteUrl': undefined, 'access.supportEmail': undefined };
const typeOf = (text: string): object => ({ name: text.split(':')[0], version: text.split(':')[1] });

t.test('both fixtures obey', async (t) => {
  t.same(faultsOf(contract), []);
  t.same(faultsOf(embedded), []);
});

t.test('rules leave malformed values to the schema', async (t) => {
  const sections = ['', '.plugins', '.installTargets', '.lanes'].map((part) => `installer${part}`);
  for (const value of [null, 5, 'x', [], {}, [5], ['x'], [{}], { a: 5 }, { a: [5] }])
    for (const path of [...sections, 'handler', 'access', 'mail'])
      t.doesNotThrow(() => faultsOf(changed(contract, path, value)), `${path} = ${JSON.stringify(value)}`);
  t.same(faultsOf({}), []);
});

/** What a changed document is told, by the fact that it shows. */
const FACTS: Record<string, readonly (readonly [changes: Record<string, unknown>, found: readonly string[]])[]> = {
  "an issuer that is not our own is named with the audience of this service's tokens": [
    [{ [AUDIENCE]: undefined }, [`${AUDIENCE}: nothing`]],
    [{ [AUDIENCE]: undefined, 'containerCore.authentication.oauth.privateKeyFile': 'key.pem' }, []],
    [{ [AUDIENCE]: undefined, 'containerCore.authentication.oauth.issuer': 'longshore-local' }, []],
  ],
  'target ids and names are unique': [
    [{ [`${I1}.targetName`]: 'Alpha' }, [`${T1}.targetName: "Alpha", as at ${T0}.targetName`]],
    [{ [`${I2}.targetId`]: 'AlphaDB' }, [`${T2}.targetId: "AlphaDB", as at ${T0}.targetId`]],
    [
      { [`${I0}.targetName`]: 'BetaDB', [`${I1}.targetName`]: undefined },
      [`${T1}.targetId: "BetaDB", as at ${T0}.targetName`],
    ],
    [
      { [`${I0}.targetName`]: undefined, [`${I2}.targetName`]: 'AlphaDB' },
      [`${T2}.targetName: "AlphaDB", as at ${T0}.targetId`],
    ],
  ],
  'two enabled targets never share a directory; a disabled one may': [
    [
      { [`${I0}.datasetFileRoot`]: 'legacy/beta' },
      [`${T1}.datasetFileRoot: the directory "legacy/beta", as at ${T0}.datasetFileRoot`],
    ],
    [
      { [`${I1}.datasetFileRoot`]: 'build-68/AlphaDB' },
      [`${T1}.datasetFileRoot: the directory "build-68/AlphaDB", as at ${T0}.targetId`],
    ],
    [{ [`${I2}.datasetFileRoot`]: 'legacy/beta' }, []],
  ],
  'a type has one plugin, its case aside; versions are compared as text': [
    [
      { 'installer.plugins.rnaseq.dataTypes': [{ name: 'GENELIST', version: '1.0', category: 'Other' }] },
      ['installer.plugins.rnaseq.dataTypes[0]: the type genelist:1.0, as at installer.plugins.genelist.dataTypes[0]'],
    ],
    [{ 'installer.plugins.rnaseq.dataTypes': [{ name: 'GENELIST', version: '1', category: 'Other' }] }, []],
  ],
  'references name something that is configured': [
    [
      { [`${GENELIST}.0.projectIds`]: ['AlphaDB', 'OtherDB', 'GammaDB'] },
      [`${GENELIST}[0].projectIds[1]: "OtherDB", which is no install target`],
    ],
    [
      { [`${I1}.dataTypes`]: ['GeneList:1.0', 'biom:1'].map(typeOf) },
      [`${T1}.dataTypes[1]: the type biom:1, which no plugin has`],
    ],
    [{ 'pluginHost.inProcess': ['genelist', 'other'] }, ['pluginHost.inProcess[1]: "other", which is no plugin']],
  ],
  'archives are no extensions': [
    [
      { [`${GENELIST}.0.allowedFileExtensions`]: ['.txt', '.ZIP', '.tar.gz', '.tgz', '.gz'] },
      ['[1]: ".ZIP"', '[2]: ".tar.gz"', '[3]: ".tgz"'].map(
        (found) => `${GENELIST}[0].allowedFileExtensions${found}, an archive`,
      ),
    ],
  ],
  'the username must do for a schema when there is none': [
    [{ [`${I0}.dataDb.username`]: 'data-user' }, []],
    [
      { [`${I0}.dataDb.username`]: 'data-user', [`${I0}.dataDb.schema`]: undefined },
      [`${T0}.dataDb.schema: nothing, and the username, which is the default, is not a valid schema name`],
    ],
  ],
  'on MariaDB the name must do for a schema when there is none': [
    [{ [`${I0}.dataDb.platform`]: 'MariaDB', [`${I0}.dataDb.name`]: 'my-sites' }, []],
    [
      {
        ...{ [`${I0}.dataDb.platform`]: 'mariadb', [`${I0}.dataDb.name`]: 'my-sites' },
        ...{ [`${I0}.dataDb.username`]: 'data-user', [`${I0}.dataDb.schema`]: undefined },
      },
      [`${T0}.dataDb.schema: nothing, and the name, which is the default, is not a valid schema name`],
    ],
  ],
  'the other platform is named and refused': [
    [
      { [`${I0}.controlDb.platform`]: 'Oracle' },
      [`${T0}.controlDb.platform: "Oracle", which is not supported for now`],
    ],
  ],
  'a lookup needs the directory': [
    [{ 'installer.ldap': undefined }, [`${T1}.controlDb.lookupCn: a directory lookup without \`installer.ldap\``]],
  ],
  'the install root does not hold the build directory': [
    ...['/mnt/build-68', '/mnt/build-68/'].map(
      (root) =>
        [
          { 'installer.plugins.genelist.installRoot': root },
          [`installer.plugins.genelist.installRoot: "${root}", which ends with the site build`],
        ] as const,
    ),
    [{ 'installer.plugins.genelist.installRoot': '/mnt/build-68/x' }, []],
  ],
  'a message belongs to one lane; channels may be shared': [
    [SHARED_CHANNEL, []],
    [
      {
        ...SHARED_CHANNEL,
        'installer.lanes.install.eventKey': 'same-key',
        'installer.lanes.sharing.eventKey': 'same-key',
      },
      ['installer.lanes.sharing: channel shared with key same-key, as at installer.lanes.install'],
    ],
  ],
  'the object store and the change queue go together; the event log goes with either': [
    [
      { 'installer.queueBroker': { driver: 'postgres' } },
      [`${QUEUE}: postgres beside the object store driver s3, which would never report a change there`],
    ],
    [
      { 'installer.objectStore': { driver: 'directory', path: 'x' } },
      [`${QUEUE}: rabbitmq beside the object store driver directory, which would never report a change there`],
    ],
    [{ 'installer.logBroker': { driver: 'postgres' } }, []],
  ],
  'limits stand in order': [
    [
      { 'installer.lanes.import.retry': { attempts: 1, base: '2m', max: '1m 59s' } },
      ['installer.lanes.import.retry.max: "1m 59s" beside "2m" as installer.lanes.import.retry.base'],
    ],
    [{ 'installer.lanes.import.retry': { attempts: 1, base: '2m', max: '120s' } }, []],
    [
      { 'installer.logBroker.consumers.heartbeatInterval': '30s' },
      [
        'installer.logBroker.consumers.sessionTimeout: "30s" beside "30s" as installer.logBroker.consumers.heartbeatInterval',
      ],
    ],
    [{ 'mail.retry.max': '1s' }, ['mail.retry.max: "1s" beside "1m" as mail.retry.base']],
  ],
  'access mails need an address and a site': [
    [NO_SITE, ['access.siteUrl: nothing', 'access.supportEmail: nothing']],
    [{ ...NO_SITE, mail: undefined }, []],
  ],
};

for (const [fact, cases] of Object.entries(FACTS))
  t.test(fact, async (t) => {
    for (const [changes, found] of cases) t.strictSame(withChanges(changes), found, JSON.stringify(changes));
  });

t.test('metaValidation is a schema', async (t) => {
  const at = 'installer.installTargets.0.metaValidation';
  t.match(
    withChanges({ [at]: { type: 'strnig' } })[0],
    `${T0}.metaValidation: no valid JSON Schema: schema is invalid`,
  );
  t.match(withChanges({ [at]: { $ref: 'https://example.org/other' } })[0], 'no valid JSON Schema');
  t.same(withChanges({ [at]: { type: 'object', properties: { a: { format: 'email', hint: 'ours' } } } }), []);
});

t.test('front ends have ports of their own, as far as they are there', async (t) => {
  t.same(withChanges({ 'containerCore.ports.report': 8080 }), [
    'containerCore.ports.report: 8080, the port of installer too',
  ]);
  t.same(withChanges({ 'containerCore.ports.pluginHost': 8080 }), [], 'no plugin is hosted here');
  t.same(withChanges({ 'containerCore.ports.pluginHost': 9080 }, embedded), [
    'containerCore.ports.pluginHost: 9080, the port of installer too',
  ]);
  t.same(withChanges({ 'containerCore.ports.handler': 8081 }), [
    'containerCore.ports.handler: 8081, but `handler.port` is 8181',
  ]);
});
