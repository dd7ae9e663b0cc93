// Every bound of the contract, and of our additions, at it, below it and above it. The tables are typed from the documents,
// not from the schema; the last test compares the two.

import t, { type Test } from 'tap';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { branchOf, type SchemaNode } from '../../config/schema-node.ts';
import { compileCheck } from '../../config/validate.ts';
import { changed, completeDocument, type Document } from './complete-document.ts';

const OPEN = null;
type Bounds = readonly [low: number | null, high: number | null];

const queue: Bounds = [1, 100];
const workers: Bounds = [1, 20];
const lanes = ['import', 'install', 'hardDelete', 'softDelete', 'sharing', 'updateMeta', 'reconciliation', 'upload'];
const buffer: Bounds = [-1, OPEN];
const size: Bounds = [0, OPEN];
const ports: Bounds = [1, 65_535];

/** Whole numbers of the contract's form. */
const INTEGERS: Record<string, Bounds> = {
  'installer.cacheDb.poolSize': [1, 32],
  'installer.restService.maxUploadSize': [1_048_576, OPEN],
  'installer.restService.userMaxStorageSize': [1_073_741_824, OPEN],
  'installer.restService.archives.maxEntries': [1, 100_000],
  'installer.restService.archives.maxNamesSize': [1_024, 67_108_864],
  ...Object.fromEntries(
    lanes.flatMap((lane) => [
      [`installer.lanes.${lane}.inMemoryQueueSize`, queue],
      [`installer.lanes.${lane}.workerCount`, workers],
      [`installer.lanes.${lane}.retry.attempts`, [1, 100]],
    ]),
  ),
  'installer.logBroker.consumers.fetchMaxBytes': size,
  'installer.logBroker.consumers.fetchMinBytes': size,
  'installer.logBroker.consumers.maxPollRecords': size,
  'installer.logBroker.consumers.receiveBufferSize': buffer,
  'installer.logBroker.consumers.sendBufferSize': buffer,
  'installer.logBroker.producers.bufferMemory': size,
  'installer.logBroker.producers.sendRetries': [0, 2_147_483_647],
  'installer.logBroker.producers.batchSize': size,
  'installer.logBroker.producers.maxRequestSize': size,
  'installer.logBroker.producers.receiveBufferSize': buffer,
  'installer.logBroker.producers.sendBufferSize': buffer,
  'installer.plugins.*.dataTypes.*.maxFileSize': [0, OPEN],
  'installer.sharedTargetDbPooling.poolSize': [5, 255],
  'installer.installTargets.*.controlDb.poolSize': [5, 32],
  'installer.installTargets.*.dataDb.poolSize': [5, 32],
  'handler.port': [80, 65_535],
  // Ours.
  ...Object.fromEntries(
    ['installer', 'handler', 'report', 'access', 'pluginHost'].map((name) => [`containerCore.ports.${name}`, ports]),
  ),
  'containerCore.http.limits.maxHeaderSize': [8192, 1_048_576],
  'containerCore.http.limits.maxJsonSize': [65_536, 67_108_864],
  'containerCore.http.limits.maxConnections': [1, 65_535],
  'containerCore.http.limits.connectionsPerAddress': [1, 65_535],
  'containerCore.http.limits.maxUnsentSize': [1_048_576, 4_294_967_296],
  'containerCore.http.limits.minTransferRate': [1, 1_048_576],
  'containerCore.http.limits.maxPipelined': [0, 1000],
  'containerCore.http.limits.uploadsPerUser': [1, 100],
  'containerCore.http.limits.eventStreamsPerUser': [1, 10_000],
  'containerCore.http.limits.eventStreams': [1, 65_535],
  'containerCore.http.rateLimit.perUser': [1, 1_000_000],
  'containerCore.http.rateLimit.perAddress': [1, 1_000_000],
  'containerCore.disk.floor': [0, 50],
  'containerCore.disk.floorSize': [0, OPEN],
  'containerCore.http.limits.waitingPerUser': [1, 1_000_000],
  'installer.restService.resumableUploads.perUser': [1, 1000],
  'installer.restService.urlUploads.maxRedirects': [0, 20],
  'installer.restService.webhooks.lane.inMemoryQueueSize': queue,
  'installer.restService.webhooks.lane.workerCount': workers,
  'installer.restService.webhooks.perUser': [1, 100],
  'installer.restService.webhooks.ports.0': [1, 65_535],
  'installer.restService.webhooks.retry.attempts': [1, 100],
  'installer.restService.urlUploads.ports.0': [1, 65_535],
  'installer.plugins.*.limits.cpu': [1, 31_536_000],
  'installer.plugins.*.limits.fileSize': [1, OPEN],
  'handler.maxUnpackedSize': [1_048_576, OPEN],
  'handler.maxResultsPerOwner': [1_048_576, OPEN],
  'handler.archives.maxEntries': [1, 100_000],
  'handler.archives.maxNamesSize': [1_024, 67_108_864],
  'handler.lane.inMemoryQueueSize': queue,
  'handler.lane.workerCount': workers,
  'report.lane.inMemoryQueueSize': queue,
  'report.lane.workerCount': workers,
  'report.maxQueued': [1, 1_000_000],
  'report.maxQueuedPerUser': [1, 1_000_000],
  'report.maxOutputSize': [1_048_576, OPEN],
  'report.db.poolSize': [1, 32],
  'access.db.poolSize': [1, 32],
  'mail.retry.attempts': [1, 100],
  'pluginHost.limits.scripts': [1, 1_000],
  'pluginHost.limits.calls': [1, 10_000],
};

const named: Bounds = [3, 32];
/** Lengths of texts. */
const LENGTHS: Record<string, Bounds> = {
  'pluginHost.installed.group': [1, 64],
  'containerCore.authentication.adminToken': [32, OPEN],
  'installer.cacheDb.username': [3, OPEN],
  'installer.cacheDb.password': [3, OPEN],
  'installer.cacheDb.name': [3, OPEN],
  'installer.daemons.eventRouter.brokerProducerId': named,
  ...Object.fromEntries(
    lanes
      .filter((lane) => lane !== 'upload')
      .flatMap((lane) =>
        ['brokerConsumerId', 'eventChannel', 'eventKey'].map((key) => [`installer.lanes.${lane}.${key}`, named]),
      ),
  ),
  'installer.lanes.updateMeta.brokerProducerId': named,
  'installer.lanes.reconciliation.brokerProducerId': named,
  'installer.objectStore.accessToken': [3, OPEN],
  'installer.objectStore.secretKey': [8, OPEN],
  'installer.queueBroker.global.connection.username': [3, OPEN],
  'installer.queueBroker.global.connection.password': [3, OPEN],
  'installer.queueBroker.global.exchange.name': [3, OPEN],
  'installer.queueBroker.global.queue.name': [3, OPEN],
  'installer.queueBroker.global.routing.key': [3, OPEN],
  'installer.plugins.*.dataTypes.*.name': [3, OPEN],
  'installer.plugins.*.dataTypes.*.version': [1, OPEN],
  'installer.plugins.*.dataTypes.*.category': [3, OPEN],
  'installer.plugins.*.dataTypes.*.projectIds.*': [5, 32],
  'installer.installTargets.*.targetId': [5, 32],
  'installer.installTargets.*.targetName': [3, 128],
  'installer.installTargets.*.datasetFileRoot': [3, OPEN],
  ...Object.fromEntries(
    ['controlDb', 'dataDb'].flatMap((db) => [
      [`installer.installTargets.*.${db}.username`, [3, OPEN]],
      [`installer.installTargets.*.${db}.password`, [8, OPEN]],
      [`installer.installTargets.*.${db}.schema`, [3, 63]],
      [`installer.installTargets.1.${db}.lookupCn`, [3, OPEN]],
    ]),
  ),
  // Beyond the contract: what must not be empty, and our own sections.
  'containerCore.authentication.oauth.issuer': [1, OPEN],
  'containerCore.authentication.operators.claim': [1, OPEN],
  'containerCore.console.product': [1, 80],
  'containerCore.console.oidc.clientId': [1, OPEN],
  'containerCore.console.oidc.scopes': [1, OPEN],
  'containerCore.authentication.operators.operator.*': [1, OPEN],
  'containerCore.authentication.operators.observer.*': [1, OPEN],
  'containerCore.authentication.oauth.audience': [1, OPEN],
  'installer.objectStore.bucketName': [1, OPEN],
  'installer.objectStore.region': [1, OPEN],
  'installer.siteBuild': [1, OPEN],
  'installer.ldap.baseDn': [1, OPEN],
  'installer.ldap.bindDn': [3, OPEN],
  'installer.ldap.bindPassword': [1, OPEN],
  'installer.logBroker.sasl.username': [1, OPEN],
  'installer.logBroker.sasl.password': [1, OPEN],
  'installer.installTargets.*.controlDb.name': [1, OPEN],
  'installer.installTargets.*.dataDb.name': [1, OPEN],
  'installer.plugins.*.token': [16, OPEN],
  'pluginHost.token': [16, OPEN],
  'handler.token': [16, OPEN],
  'handler.serviceName': [1, OPEN],
  'handler.configPath': [1, OPEN],
  ...Object.fromEntries(
    ['report', 'access'].flatMap((service) => [
      [`${service}.db.username`, [3, OPEN]],
      [`${service}.db.password`, [3, OPEN]],
      [`${service}.db.name`, [3, OPEN]],
      [`${service}.db.schema`, [3, 63]],
    ]),
  ),
  'mail.username': [1, OPEN],
  'mail.password': [1, OPEN],
};

/** Fewest items; `make` gives the n-th. */
const ITEMS: Record<string, { readonly low: number; readonly make: (n: number) => unknown }> = {
  'installer.logBroker.servers': { low: 1, make: (n) => `kafka-${n}` },
  'installer.restService.urlUploads.ports': { low: 1, make: (n) => n + 1 },
  'installer.restService.webhooks.ports': { low: 1, make: (n) => n + 1 },
  'installer.ldap.servers': { low: 1, make: (n) => `ldap-${n}` },
  'installer.plugins.*.dataTypes': { low: 1, make: (n) => ({ name: `type${n}`, version: '1', category: 'Type' }) },
  'installer.installTargets': { low: 1, make: (n) => ({ enabled: false, targetId: `Target${n}` }) },
  'installer.installTargets.*.dataTypes': { low: 1, make: (n) => ({ name: `type${n}`, version: '1' }) },
  'handler.commands': { low: 1, make: (n) => ({ command: `step${n}`, arguments: [] }) },
  'containerCore.http.proxies': { low: 1, make: (n) => `10.0.0.${n}` },
  'containerCore.http.enableCors': { low: 1, make: (n) => `https://site${n}.example` },
};

const db = () => ({ server: 'db.example.org', username: 'role', password: 'password' });
const contract = await completeDocument('contract-form');
const full: Document = {
  ...contract,
  report: { ...(contract.report as Document), db: db() },
  access: { ...(contract.access as Document), db: db() },
  pluginHost: {},
};
Object.assign((full.installer as { ldap: Document }).ldap, { bindDn: 'cn=reader', bindPassword: 'password' });
Object.assign((full.installer as { logBroker: Document }).logBroker, {
  sasl: { username: 'longshore', password: 'p' },
});
const [alpha, beta] = (contract.installer as { installTargets: Document[] }).installTargets;
if (alpha && beta) beta.dataDb = structuredClone(beta.controlDb);
const check = compileCheck(ROOT_SCHEMA);
const faultsAt = (path: string, value: unknown): readonly string[] =>
  check(changed(full, path, value), () => undefined).map((finding) => finding.path.join('.'));

/** True for a fault there or below; `*` in a path stands for whatever is first there. */
const holds = (path: string, fault: string): boolean => {
  const found = fault.split('.');
  return path.split('.').every((step, i) => step === '*' || step === found[i]);
};

function accepts(t: Test, path: string, value: unknown): void {
  t.same(faultsAt(path, value), [], `${path} accepts ${JSON.stringify(value)?.slice(0, 60)}`);
}
function refuses(t: Test, path: string, value: unknown): void {
  const faults = faultsAt(path, value);
  t.ok(
    faults.length === 1 && holds(path, faults[0] ?? ''),
    `${path} refuses ${JSON.stringify(value)?.slice(0, 60)}: ${faults}`,
  );
}

t.test('the document that is changed has no fault itself', async (t) => {
  t.same(
    check(full, () => undefined),
    [],
  );
});

function obeysBounds(t: Test, table: Record<string, Bounds>, make: (size: number) => unknown): void {
  for (const [path, [low, high]] of Object.entries(table)) {
    if (low !== null) {
      accepts(t, path, make(low));
      refuses(t, path, make(low - 1));
    }
    if (high !== null) {
      accepts(t, path, make(high));
      refuses(t, path, make(high + 1));
    }
  }
}

t.test('whole numbers', async (t) => {
  obeysBounds(t, INTEGERS, (size) => size);
  for (const [path, [low, high]] of Object.entries(INTEGERS))
    for (const value of [(low ?? 0) + 0.5, String(low ?? high)]) refuses(t, path, value);
});

t.test('lengths of texts', async (t) => {
  obeysBounds(t, LENGTHS, (size) => 'a'.repeat(size));
  for (const path of Object.keys(LENGTHS)) refuses(t, path, true);
});

t.test('numbers of items', async (t) => {
  for (const [path, { low, make }] of Object.entries(ITEMS)) {
    for (const length of [low, low + 1])
      accepts(
        t,
        path,
        Array.from({ length }, (_, n) => make(n)),
      );
    refuses(t, path, []);
  }
  refuses(t, 'installer.plugins', {});
});

const GENES = { name: 'abc', version: '1' };
const TYPE = 'installer.plugins.*.dataTypes.*';
const TARGET = 'installer.installTargets.*';
const words = (...all: readonly (string | null)[]) => [all, ['other-word', 1]] as const;
const address = [
  ['h', 'h:1', 'h:65535', { host: 'h' }, { host: 'h', port: 65_535 }, { host: '[::1]', port: 1 }],
  [
    ...['', 'h:0', 'h:65536', '-h', 5, [], null, { host: 'h', port: 0 }, { host: 'h', port: 65_536 }],
    ...[{ host: 'a'.repeat(64) }, { port: 1 }, { host: 'h', prot: 1 }],
  ],
] as const;

/** What else is accepted and refused. */
const VALUES: Record<string, readonly [accepted: readonly unknown[], refused: readonly unknown[]]> = {
  [`${TYPE}.maxFileSize`]: [[2 ** 63 - 1024], [2 ** 63]],
  [`${TYPE}.version`]: [
    ['1', 0, 0.1, 12],
    ['', -0.1, null, true, []],
  ],
  [`${TYPE}.allowedFileExtensions`]: [[['.x', '.tar.bz2']], [['.'], ['txt'], [''], ['.a', '.a']]],
  'installer.plugins.*.dataTypes': [[], [[1, 2].map(() => ({ ...GENES, category: 'Type' }))]],
  'installer.installTargets': [[], [[{ enabled: false }, { enabled: false }]]],
  [`${TARGET}.dataTypes`]: [[['*']], ['*', { name: 'a' }, [GENES, GENES]]],
  'installer.logBroker.consumers.autoOffsetReset': words('earliest', 'latest', 'none'),
  'installer.logBroker.producers.compressionType': words('none', 'gzip', 'snappy', 'lz4', 'zstd'),
  'installer.queueBroker.global.exchange.type': words('direct', 'fanout', 'topic'),
  [`${TARGET}.controlDb.platform`]: words('Postgres', 'postgresql', 'MariaDB', 'mariadb', null),
  [`${TARGET}.projectCategory`]: words('genomics', 'vector', 'microbiome', 'clinical-epidemiology', 'other'),
  'containerCore.log.level': words('trace', 'debug', 'info', 'warn', 'error', 'silent'),
  'mail.security': words('starttls', 'tls', 'none'),
  'installer.ldap.servers': [
    ['a', 'a:1, b', ['a', 'b:2'], [{ host: 'a' }, { host: 'b', port: 3 }]],
    ['', 'a,', 'a_b', {}, 5],
  ],
  'installer.cacheDb.server': address,
  'installer.objectStore.server': address,
  'installer.logBroker.servers.*': address,
  'mail.server': address,
  'installer.queueBroker.global.connection.server': address,
  'installer.plugins.*.server': address,
  [`${TARGET}.controlDb.server`]: address,
};

t.test('words, addresses, versions, extensions, and sets whose items differ', async (t) => {
  for (const [path, [accepted, refused]] of Object.entries(VALUES)) {
    for (const value of accepted) accepts(t, path, value);
    for (const value of refused) refuses(t, path, value);
  }
});

t.test('every duration refuses what is none', async (t) => {
  for (const path of durationPaths()) {
    for (const value of ['1d 2h', '1h30m', 'PT1H', '5 minutes']) accepts(t, path, value);
    for (const value of ['5', '', '1m1h', 5, null]) refuses(t, path, value);
  }
});

t.test('target types are ["*"] or a list of types, never both', async (t) => {
  for (const value of [['*', '*'], ['**'], [{ name: 'a', version: '1' }, '*'], [{ name: 'a' }]])
    t.not(faultsAt(`${TARGET}.dataTypes`, value).length, 0, JSON.stringify(value));
});

t.test('unknown keys are refused everywhere but in the handler options', async (t) => {
  const sections = sectionPaths();
  t.ok(sections.length > 60, `${sections.length} sections`);
  for (const path of sections) {
    const key = path === '' ? 'unknownKey' : `${path}.unknownKey`;
    if (path === 'handler') accepts(t, key, 1);
    else refuses(t, key, 1);
  }
});

t.test('required keys are missed', async (t) => {
  for (const key of ['cacheDb', 'logBroker', 'objectStore', 'plugins', 'queueBroker', 'siteBuild', 'installTargets'])
    refuses(t, `installer.${key}`, undefined);
  for (const key of ['containerCore', 'installer']) refuses(t, key, undefined);
  for (const key of ['serviceName', 'port', 'configPath', 'commands']) refuses(t, `handler.${key}`, undefined);
  for (const key of ['targetId', 'controlDb', 'dataDb']) refuses(t, `installer.installTargets.*.${key}`, undefined);
  for (const key of ['connection', 'exchange', 'queue']) refuses(t, `installer.queueBroker.global.${key}`, undefined);
  for (const key of ['bucketName', 'server', 'accessToken', 'secretKey'])
    refuses(t, `installer.objectStore.${key}`, undefined);
});

t.test('the tables hold every bound of the schema', async (t) => {
  const bounded = nodes().filter(
    ({ path, node }) =>
      !path.endsWith('.port') &&
      (['minimum', 'maximum', 'minItems', 'maxLength'].some((key) => key in node) ||
        ('minLength' in node && !('x-form' in node && node.type === 'string' && node.pattern !== undefined))),
  );
  const rows = [...Object.keys(INTEGERS), ...Object.keys(LENGTHS), ...Object.keys(ITEMS)];
  const missing = bounded.map(({ path }) => path).filter((path) => !rows.some((row) => overlap(row, path)));
  t.same(missing, []);
});

/** `*` and an index name the same place of a schema. */
const overlap = (row: string, path: string): boolean => {
  const [a, b] = [row.split('.'), path.split('.')];
  return a.length === b.length && a.every((step, i) => step === b[i] || step === '*' || b[i] === '*');
};

interface Place {
  readonly path: string;
  readonly node: SchemaNode & { readonly pattern?: string };
}

/** Every node that the full document reaches, or could. */
function nodes(): readonly Place[] {
  const found: Place[] = [];
  const visit = (node: SchemaNode, path: string, value: unknown): void => {
    found.push({ path, node });
    const branch = branchOf(node, value) ?? node.anyOf?.[0] ?? node;
    if (branch !== node && !('x-form' in node)) found.push({ path, node: branch });
    const below = (step: string): string => (path === '' ? step : `${path}.${step}`);
    const at = (step: string): unknown => (value as Document | undefined)?.[step];
    if (node['x-form'] === 'address' || node['x-form'] === 'addresses') return;
    for (const [key, child] of Object.entries(branch.properties ?? {})) visit(child, below(key), at(key));
    if (branch.items) visit(branch.items, below('*'), Array.isArray(value) ? value[0] : undefined);
    if (typeof branch.additionalProperties === 'object')
      visit(branch.additionalProperties, below('*'), Object.values((value as Document | undefined) ?? {})[0]);
  };
  visit(ROOT_SCHEMA, '', full);
  return found;
}

function durationPaths(): readonly string[] {
  const paths = nodes()
    .filter(({ node }) => node['x-form']?.endsWith('duration'))
    .map(({ path }) => path);
  return paths.filter((path) => !path.startsWith('handler.commands'));
}

function sectionPaths(): readonly string[] {
  const paths = nodes()
    .filter(({ node }) => node.properties && node.type === 'object')
    .map(({ path }) => path);
  return [...new Set(paths)].filter(
    (path) => !/tlsOptions$|installTargets\.\*\.dataTypes\.\*$|http\.(?:tls|adminListener)$/.test(path),
  );
}
