import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fillDefaults } from '../../config/load.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import type { SchemaNode } from '../../config/schema-node.ts';
import { warningsOf } from '../../config/warnings.ts';
import { changed, completeDocument } from './complete-document.ts';

const contract = await completeDocument('contract-form');
const warningsWith = (changes: Record<string, unknown>): readonly string[] => {
  const asWritten = Object.entries(changes).reduce((at, [path, value]) => changed(at, path, value), contract);
  return warningsOf(ROOT_SCHEMA, asWritten, fillDefaults(ROOT_SCHEMA, asWritten));
};

/** Settings of the contract that nothing here can honour. */
const IGNORED = {
  'installer.queueBroker.global.pollInterval': '2s',
  'installer.daemons.pruner.wakeInterval': '1s',
  'installer.lanes.updateMeta.brokerProducerId': 'one',
  'installer.lanes.reconciliation.brokerProducerId': 'one',
  'installer.logBroker.consumers.connectionsMaxIdle': '1m',
  'installer.logBroker.consumers.groupInstanceId': 'one',
  'installer.logBroker.consumers.defaultApiTimeout': '2m',
  'installer.logBroker.consumers.receiveBufferSize': 1,
  'installer.logBroker.consumers.sendBufferSize': 1,
  'installer.logBroker.producers.bufferMemory': 1,
  'installer.logBroker.producers.batchSize': 1,
  'installer.logBroker.producers.connectionsMaxIdle': '1m',
  'installer.logBroker.producers.lingerTime': '1ms',
  'installer.logBroker.producers.maxBlockingTimeout': '2m',
  'installer.logBroker.producers.receiveBufferSize': 1,
  'installer.logBroker.producers.sendBufferSize': 1,
} as const;

t.test('a file that asks for nothing odd gets no warning', async (t) => {
  t.same(warningsWith({}), []);
});

t.test(
  'a password that a directory gets unencrypted is a warning, unless the directory is on this machine',
  async (t) => {
    const bound = (servers: unknown, tls = false) =>
      warningsWith({ 'installer.ldap': { servers, baseDn: 'dc=a', bindDn: 'cn=a', bindPassword: 'b', tls } });
    const warning = 'installer.ldap.bindPassword is sent unencrypted: set installer.ldap.tls';
    for (const servers of ['a', 'localhost, a:389', ['127.0.0.1', 'a'], [{ host: 'a' }]]) {
      t.same(bound(servers), [warning], JSON.stringify(servers));
      t.same(bound(servers, true), []);
    }
    for (const servers of ['localhost', '127.0.0.1:389, [::1]', ['localhost'], [{ host: '127.0.0.1', port: 389 }]])
      t.same(bound(servers), [], JSON.stringify(servers));
  },
);

t.test('so is a password that Kafka gets as it is', async (t) => {
  const login = (mechanism: string, server = 'kafka', tls = false) =>
    warningsWith({
      'installer.logBroker': { servers: [server], tls, sasl: { mechanism, username: 'a', password: 'b' } },
    });
  t.same(login('PLAIN'), ['installer.logBroker.sasl.password is sent unencrypted: set installer.logBroker.tls']);
  t.same([login('PLAIN', 'kafka', true), login('PLAIN', 'localhost'), login('SCRAM-SHA-512')], [[], [], []]);
});

t.test('each setting without effect is named when it is changed', async (t) => {
  for (const [path, value] of Object.entries(IGNORED)) {
    const warnings = warningsWith({ [path]: value });
    t.equal(warnings.length, 1, path);
    t.match(warnings[0], `${path} has no effect: `);
  }
});

t.test('the list is complete, in the schema and in the README', async (t) => {
  const marked: string[] = [];
  const visit = (node: SchemaNode, path: string): void => {
    if (node['x-ignored'] !== undefined) marked.push(path.slice(1));
    for (const branch of node.anyOf ?? []) visit(branch, path);
    for (const [key, child] of Object.entries(node.properties ?? {})) visit(child, `${path}.${key}`);
  };
  visit(ROOT_SCHEMA, '');
  t.same(marked.sort(), Object.keys(IGNORED).sort());
  const readme = await readFile(join(import.meta.dirname, '../../config/README.md'), 'utf8');
  for (const path of marked) t.match(readme, `\`${path.split('.').at(-1)}\``, path);
});

t.test('open doors are named', async (t) => {
  t.same(warningsWith({ 'installer.cacheDb.tlsOptions.verify': false }), [
    'installer.cacheDb.tlsOptions.verify is false: ANY certificate is accepted there',
  ]);
  t.same(warningsWith({ 'handler.token': undefined }), [
    'handler listens on 0.0.0.0 without a token: whoever reaches it can run its scripts',
  ]);
  t.same(warningsWith({ pluginHost: { bindHost: '::' } }), [
    'pluginHost listens on :: without a token: whoever reaches it can run its scripts',
  ]);
  t.same(
    warningsWith({ 'handler.token': undefined, 'handler.bindHost': '127.0.0.1', pluginHost: { bindHost: '::1' } }),
    [],
  );
  t.same(warningsWith({ 'containerCore.authentication.oauth.jwksUrl': 'http://login.example.org/keys' }), [
    'containerCore.authentication.oauth.jwksUrl is not https: whoever can change that answer can sign tokens',
  ]);
  t.same(warningsWith({ 'containerCore.authentication.oauth.jwksUrl': 'http://127.0.0.1:9/keys' }), []);
});

t.test('closed doors are named', async (t) => {
  t.same(warningsWith({ 'containerCore.authentication': undefined }), [
    'containerCore.authentication is not set: every call of a user or an admin is refused',
  ]);
  t.same(warningsWith({ 'containerCore.authentication.oauth': undefined }), [
    'containerCore.authentication.oauth is not set: every call of a user is refused',
  ]);
  t.same(warningsWith({ mail: undefined }), ['mail is not configured: mails of the access service wait in the outbox']);
});

t.test('values that others override are named', async (t) => {
  t.same(warningsWith({ 'installer.plugins.genelist.dataTypes.0.maxFileSize': 2 ** 32 }), [
    'installer.plugins.genelist.dataTypes[0].maxFileSize is above restService.maxUploadSize: 2147483648 applies',
  ]);
  t.same(warningsWith({ 'installer.restService.userMaxStorageSize': 1_073_741_824 }), [
    'installer.restService.maxUploadSize is above userMaxStorageSize, which applies first',
  ]);
  t.same(warningsWith({ 'installer.restService.userMaxStorageSize': 2_147_483_648 }), [], 'as much as one upload');
  t.match(warningsWith({ 'installer.logBroker.consumers.autoOffsetReset': 'none' }), [/none is taken as earliest/]);
  t.same(warningsWith({ 'handler.resultRetenton': '1h' }), [
    'handler.resultRetenton has no meaning here: did you mean resultRetention?',
  ]);
});
