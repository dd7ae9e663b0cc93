import t from 'tap';
import { Cursor } from '../../config/cursor.ts';
import { fillDefaults } from '../../config/defaults.ts';
import { displayPath } from '../../config/path.ts';
import { installerRules } from '../../config/rules/installer-rules.ts';
import { processRules } from '../../config/rules/process-rules.ts';
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

const T0 = 'installer.installTargets[0]';
const T1 = 'installer.installTargets[1]';

t.test('both fixtures obey', async (t) => {
  t.same(faultsOf(contract), []);
  t.same(faultsOf(embedded), []);
});

t.test('rules leave malformed values to the schema', async (t) => {
  for (const value of [null, 5, 'x', [], {}, [5], ['x'], [{}], { a: 5 }, { a: [5] }])
    for (const path of [
      'installer',
      'installer.plugins',
      'installer.installTargets',
      'installer.lanes',
      'handler',
      'access',
      'mail',
    ])
      t.doesNotThrow(() => faultsOf(changed(contract, path, value)), `${path} = ${JSON.stringify(value)}`);
  t.same(faultsOf({}), []);
});

t.test('target ids and names are unique', async (t) => {
  t.same(withChanges({ 'installer.installTargets.1.targetName': 'Alpha' }), [
    `${T1}.targetName: "Alpha", as at ${T0}.targetName`,
  ]);
  t.same(withChanges({ 'installer.installTargets.2.targetId': 'AlphaDB' }), [
    `installer.installTargets[2].targetId: "AlphaDB", as at ${T0}.targetId`,
  ]);
  t.same(
    withChanges({
      'installer.installTargets.0.targetName': undefined,
      'installer.installTargets.2.targetName': 'AlphaDB',
    }),
    [`installer.installTargets[2].targetName: "AlphaDB", as at ${T0}.targetId`],
  );
});

t.test('two enabled targets never share a directory', async (t) => {
  t.same(withChanges({ 'installer.installTargets.0.datasetFileRoot': 'legacy/beta' }), [
    `${T1}.datasetFileRoot: the directory "legacy/beta", as at ${T0}.datasetFileRoot`,
  ]);
  t.same(withChanges({ 'installer.installTargets.1.datasetFileRoot': 'build-68/AlphaDB' }), [
    `${T1}.datasetFileRoot: the directory "build-68/AlphaDB", as at ${T0}.targetId`,
  ]);
  t.same(withChanges({ 'installer.installTargets.2.datasetFileRoot': 'legacy/beta' }), [], 'a disabled one may');
});

t.test('a type has one plugin, its case aside', async (t) => {
  const type = { name: 'GENELIST', version: '1.0', category: 'Other' };
  t.same(withChanges({ 'installer.plugins.rnaseq.dataTypes': [type] }), [
    'installer.plugins.rnaseq.dataTypes[0]: the type genelist:1.0, as at installer.plugins.genelist.dataTypes[0]',
  ]);
  t.same(
    withChanges({ 'installer.plugins.rnaseq.dataTypes': [{ ...type, version: '1' }] }),
    [],
    'versions are compared as text',
  );
});

t.test('references name something that is configured', async (t) => {
  t.same(withChanges({ 'installer.plugins.genelist.dataTypes.0.projectIds': ['AlphaDB', 'OtherDB', 'GammaDB'] }), [
    'installer.plugins.genelist.dataTypes[0].projectIds[1]: "OtherDB", which is no install target',
  ]);
  t.same(
    withChanges({
      'installer.installTargets.1.dataTypes': [
        { name: 'GeneList', version: '1.0' },
        { name: 'biom', version: '1' },
      ],
    }),
    [`${T1}.dataTypes[1]: the type biom:1, which no plugin has`],
  );
  t.same(withChanges({ 'pluginHost.inProcess': ['genelist', 'other'] }), [
    'pluginHost.inProcess[1]: "other", which is no plugin',
  ]);
});

t.test('archives are no extensions', async (t) => {
  t.same(
    withChanges({
      'installer.plugins.genelist.dataTypes.0.allowedFileExtensions': ['.txt', '.ZIP', '.tar.gz', '.tgz', '.gz'],
    }),
    [
      'installer.plugins.genelist.dataTypes[0].allowedFileExtensions[1]: ".ZIP", an archive',
      'installer.plugins.genelist.dataTypes[0].allowedFileExtensions[2]: ".tar.gz", an archive',
      'installer.plugins.genelist.dataTypes[0].allowedFileExtensions[3]: ".tgz", an archive',
    ],
  );
});

t.test('the username must do for a schema when there is none', async (t) => {
  const changes = { 'installer.installTargets.0.dataDb.username': 'data-user' };
  t.same(withChanges(changes), [], 'the complete document has the schema');
  t.same(withChanges({ ...changes, 'installer.installTargets.0.dataDb.schema': undefined }), [
    `${T0}.dataDb.schema: nothing, and the username, which is the default, is no schema name`,
  ]);
});

t.test('the other platform is named and refused', async (t) => {
  t.same(withChanges({ 'installer.installTargets.0.controlDb.platform': 'Oracle' }), [
    `${T0}.controlDb.platform: "Oracle", which is not supported for now`,
  ]);
});

t.test('a lookup needs the directory', async (t) => {
  t.same(withChanges({ 'installer.ldap': undefined }), [
    `${T1}.controlDb.lookupCn: a directory lookup without \`installer.ldap\``,
  ]);
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

t.test('the install root does not hold the build directory', async (t) => {
  for (const installRoot of ['/mnt/build-68', '/mnt/build-68/'])
    t.same(withChanges({ 'installer.plugins.genelist.installRoot': installRoot }), [
      `installer.plugins.genelist.installRoot: ${JSON.stringify(installRoot)}, which ends with the site build`,
    ]);
  t.same(withChanges({ 'installer.plugins.genelist.installRoot': '/mnt/build-68/x' }), []);
});

t.test('a message belongs to one lane', async (t) => {
  const lane = { eventChannel: 'shared', eventKey: 'same-key' };
  const changes = {
    'installer.lanes.install.eventChannel': 'shared',
    'installer.lanes.sharing.eventChannel': 'shared',
  };
  t.same(withChanges(changes), [], 'channels may be shared');
  t.same(
    withChanges({
      ...changes,
      'installer.lanes.install.eventKey': lane.eventKey,
      'installer.lanes.sharing.eventKey': lane.eventKey,
    }),
    ['installer.lanes.sharing: channel shared with key same-key, as at installer.lanes.install'],
  );
});

t.test('the object store and the change queue go together', async (t) => {
  t.same(withChanges({ 'installer.queueBroker': { driver: 'postgres' } }), [
    'installer.queueBroker.driver: postgres beside the object store driver s3, which would never report a change there',
  ]);
  t.same(withChanges({ 'installer.objectStore': { driver: 'directory', path: 'x' } }), [
    'installer.queueBroker.driver: rabbitmq beside the object store driver directory, which would never report a change there',
  ]);
  t.same(withChanges({ 'installer.logBroker': { driver: 'postgres' } }), [], 'the event log goes with either');
});

t.test('limits stand in order', async (t) => {
  t.same(withChanges({ 'installer.lanes.import.retry': { tries: 1, base: '2m', max: '1m 59s' } }), [
    'installer.lanes.import.retry.max: "1m 59s" beside "2m" as installer.lanes.import.retry.base',
  ]);
  t.same(withChanges({ 'installer.lanes.import.retry': { tries: 1, base: '2m', max: '120s' } }), []);
  t.same(withChanges({ 'installer.logBroker.consumers.heartbeatInterval': '30s' }), [
    'installer.logBroker.consumers.sessionTimeout: "30s" beside "30s" as installer.logBroker.consumers.heartbeatInterval',
  ]);
  t.same(withChanges({ 'mail.retry.max': '1s' }), ['mail.retry.max: "1s" beside "1m" as mail.retry.base']);
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

t.test('access mails need an address and a site', async (t) => {
  const changes = { 'access.siteUrl': undefined, 'access.supportEmail': undefined };
  t.same(withChanges(changes), ['access.siteUrl: nothing', 'access.supportEmail: nothing']);
  t.same(withChanges({ ...changes, mail: undefined }), []);
});
