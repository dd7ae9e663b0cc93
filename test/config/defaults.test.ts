// Every default, typed from the contract and from our own documents, against what the shortest file becomes.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { Configuration } from '../../config/configuration.ts';
import { loadConfiguration } from '../../config/load.ts';

const SHORTEST = `
containerCore: {}
installer:
  cacheDb: { server: cache, username: cache_user, password: cache-password }
  logBroker: { servers: [kafka] }
  objectStore: { bucketName: b, server: store, accessToken: abc, secretKey: abcdefgh }
  plugins: { one: { server: plugin, dataTypes: [{ name: Type, version: 1.0, category: Type }] } }
  queueBroker:
    global:
      connection: { server: rabbit, username: abc, password: abc }
      exchange: { name: abc }
      queue: { name: abc }
  siteBuild: build-1
  installTargets:
    - targetId: AlphaDB
      controlDb: { server: db, name: sites, username: control, password: abcdefgh }
      dataDb: { server: db, name: sites, username: data_user, password: abcdefgh }
`;
const SECTIONS = `
pluginHost: {}
handler: { serviceName: s, port: 8081, configPath: /c, commands: [{ command: sh, arguments: [] }] }
report:
  queryJobs: { root: /q }
  db: { server: db, username: abc, password: abc }
access: { db: { server: db, username: abc, password: abc } }
`;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

async function configurationOf(text: string): Promise<Configuration> {
  const file = join(dir, 'config.yaml');
  await writeFile(file, text);
  const result = await loadConfiguration(file, { env: {} });
  if (!result.ok) throw new Error(JSON.stringify(result.faults, null, 1));
  return result.configuration;
}
const dir = t.testdir();

const tlsOptions = { verify: true };
const retry = { attempts: 12, baseMs: SECOND, maxMs: 10 * MINUTE };
const lane = (consumer: string, queue: number, workers: number, event: string, producer?: string) => ({
  brokerConsumerId: consumer,
  inMemoryQueueSize: queue,
  workerCount: workers,
  eventChannel: `${event}-triggers`,
  eventKey: `${event}-trigger`,
  retry,
  ...(producer === undefined ? {} : { brokerProducerId: producer }),
});
const script = { maxDurationMs: HOUR };
const targetDb = (username: string) => ({
  kind: 'direct',
  server: { host: 'db', port: 5432 },
  name: 'sites',
  platform: 'Postgres',
  username,
  password: 'abcdefgh',
  poolSize: 5,
  schema: username,
  idleTimeoutMs: 10 * MINUTE,
  tls: false,
  tlsOptions,
});

/** What the shortest file says; absent sections stay absent. */
const DEFAULTS = {
  containerCore: {
    console: { product: 'Longshore' },
    http: {
      bindHost: '127.0.0.1',
      enableCors: false,
      trustProxy: false,
      basePath: '',
      assumedApiVersion: '1.8.0',
      limits: {
        maxHeaderSize: 16_384,
        maxJsonSize: 1_048_576,
        maxConnections: 1000,
        connectionsPerAddress: 200,
        maxPipelined: 16,
        maxUnsentSize: 32 * 1024 * 1024,
        minTransferRate: 1024,
        handshakeTimeoutMs: 10 * SECOND,
        uploadsPerUser: 4,
        eventStreamsPerUser: 20,
        eventStreams: 500,
        waitingPerUser: 1_000,
        headerTimeoutMs: 10 * SECOND,
        idleTimeoutMs: MINUTE,
        keepAliveTimeoutMs: 5 * SECOND,
      },
    },
    ports: { installer: 8080, handler: 8081, report: 8082, access: 8083, pluginHost: 8084 },
    audit: { retentionMs: 365 * 24 * 3600 * SECOND },
    history: { retentionMs: 30 * 24 * 3600 * SECOND },
    startupWaitMs: 60 * SECOND,
    disk: { floor: 5, floorSize: 1024 ** 3 },
    shutdownGraceMs: 30 * SECOND,
    log: { level: 'info' },
  },
  installer: {
    cacheDb: {
      server: { host: 'cache', port: 5432 },
      username: 'cache_user',
      password: 'cache-password',
      name: 'installer',
      poolSize: 5,
      tls: false,
      tlsOptions,
    },
    restService: {
      maxUploadSize: 1_073_741_824,
      userMaxStorageSize: 10_737_418_240,
      archives: { maxEntries: 10_000, maxNamesSize: 2_097_152, maxDurationMs: 15 * MINUTE },
      enableFrameworkTrace: false,
      urlUploads: {
        enabled: true,
        allow: [],
        ports: [80, 443, 8080, 8443],
        maxRedirects: 5,
        connectTimeoutMs: 10 * SECOND,
        idleTimeoutMs: MINUTE,
      },
      resumableUploads: { expiryMs: DAY, perUser: 100 },
      webhooks: {
        enabled: false,
        allowHttp: false,
        allow: [],
        ports: [443, 8443],
        perUser: 10,
        connectTimeoutMs: 5 * SECOND,
        timeoutMs: 15 * SECOND,
        retry: { attempts: 16, baseMs: 5 * SECOND, maxMs: 6 * HOUR },
        disableAfterMs: 3 * DAY,
        lane: { inMemoryQueueSize: 16, workerCount: 8 },
      },
      autoAcceptShares: false,
    },
    sharedTargetDbPooling: { poolSize: 20, idleTimeoutMs: 10 * MINUTE },
    siteBuild: 'build-1',
    daemons: {
      eventRouter: { brokerProducerId: 'event-router' },
      pruner: { retentionWindowMs: 30 * DAY, pruneIntervalMs: 6 * HOUR, wakeIntervalMs: 2 * SECOND },
      reconciler: { enabled: true, fullRunIntervalMs: 6 * HOUR, slimRunIntervalMs: 5 * MINUTE, performDeletes: true },
    },
    logBroker: {
      driver: 'kafka',
      servers: [{ host: 'kafka', port: 9092 }],
      tls: false,
      tlsOptions,
      consumers: {
        autoCommitIntervalMs: 5 * SECOND,
        autoOffsetReset: 'earliest',
        connectionsMaxIdleMs: 9 * MINUTE,
        groupId: 'installer-consumers',
        groupInstanceId: null,
        defaultApiTimeoutMs: MINUTE,
        enableAutoCommit: true,
        fetchMaxBytes: 52_428_800,
        fetchMinBytes: 1,
        heartbeatIntervalMs: 3 * SECOND,
        maxPollIntervalMs: 5 * MINUTE,
        maxPollRecords: 500,
        pollDurationMs: 2 * SECOND,
        receiveBufferSize: 65_536,
        reconnectBackoffMaxTimeMs: SECOND,
        reconnectBackoffTimeMs: 50,
        requestTimeoutMs: 30 * SECOND,
        retryBackoffTimeMs: 100,
        sendBufferSize: 131_072,
        sessionTimeoutMs: 45 * SECOND,
      },
      producers: {
        bufferMemory: 33_554_432,
        compressionType: 'none',
        sendRetries: 2_147_483_647,
        batchSize: 16_384,
        connectionsMaxIdleMs: 9 * MINUTE,
        deliveryTimeoutMs: 2 * MINUTE,
        lingerTimeMs: 5,
        maxBlockingTimeoutMs: MINUTE,
        maxRequestSize: 1_048_576,
        receiveBufferSize: 32_768,
        requestTimeoutMs: 30 * SECOND,
        sendBufferSize: 131_072,
        reconnectBackoffMaxTimeMs: SECOND,
        reconnectBackoffTimeMs: 50,
        retryBackoffTimeMs: 100,
      },
    },
    lanes: {
      upload: { inMemoryQueueSize: 10, workerCount: 4, retry },
      import: lane('import-lane-receive', 10, 10, 'import'),
      install: lane('install-data-lane-receive', 5, 5, 'install'),
      hardDelete: lane('hard-delete-lane-receive', 10, 10, 'hard-delete'),
      softDelete: lane('soft-delete-lane-receive', 5, 5, 'soft-delete'),
      sharing: lane('share-lane-receive', 10, 10, 'share'),
      updateMeta: lane('update-meta-lane-receive', 5, 5, 'update-meta', 'update-meta-lane-send'),
      reconciliation: lane('reconciliation-lane-receive', 10, 10, 'reconciliation', 'reconciliation-lane-send'),
    },
    objectStore: {
      driver: 's3',
      bucketName: 'b',
      server: { host: 'store', port: 443 },
      https: true,
      tlsOptions,
      accessToken: 'abc',
      secretKey: 'abcdefgh',
      pathStyle: true,
    },
    queueBroker: {
      driver: 'rabbitmq',
      global: {
        pollIntervalMs: SECOND,
        connection: {
          name: 'installer',
          server: { host: 'rabbit', port: 5671 },
          username: 'abc',
          password: 'abc',
          tls: true,
          tlsOptions,
          timeoutMs: 10 * SECOND,
        },
        exchange: { name: 'abc', type: 'direct', autoDelete: false, durable: true },
        queue: { name: 'abc', autoDelete: false, durable: true, exclusive: false },
      },
    },
    plugins: {
      one: {
        server: { host: 'plugin', port: 80 },
        dataTypes: [
          {
            name: 'type',
            version: '1.0',
            category: 'Type',
            typeChangesEnabled: false,
            maxFileSize: 1_073_741_824,
            allowedFileExtensions: [],
            usesDataProperties: false,
            projectIds: [],
          },
        ],
        installRoot: '/datasets',
        scripts: {
          checkCompatibility: script,
          dataCleaning: script,
          dataInstall: script,
          metaUpdate: script,
          uninstall: script,
        },
        timeouts: { connectMs: 10 * SECOND, replyMs: MINUTE, idleMs: MINUTE },
        staging: false,
        limits: {},
      },
    },
    installTargets: [
      {
        targetId: 'AlphaDB',
        targetName: 'AlphaDB',
        dataTypes: 'any',
        projectCategory: 'other',
        controlDb: targetDb('control'),
        dataDb: targetDb('data_user'),
      },
    ],
  },
};

t.test('what the shortest file becomes', async (t) => {
  t.strictSame((await configurationOf(SHORTEST)) as unknown, DEFAULTS);
});

t.test('ports depend on encryption where the contract or the protocol says so', async (t) => {
  const plain = SHORTEST.replace('server: store,', 'server: store, https: false,')
    .replace('server: rabbit,', 'server: rabbit, tls: false,')
    .replace('siteBuild', 'ldap: { servers: a, baseDn: x }\n  siteBuild');
  const { installer } = await configurationOf(`${plain}mail: { server: smtp, from: a@b.org, security: tls }\n`);
  t.match(installer.objectStore, { server: { host: 'store', port: 80 } });
  t.match(installer.queueBroker, { global: { connection: { server: { host: 'rabbit', port: 5672 } } } });
  t.strictSame(installer.ldap, { servers: [{ host: 'a', port: 389 }], baseDn: 'x', tls: false, tlsOptions });
});

t.test('port and schema of a target on MariaDB', async (t) => {
  const text = SHORTEST.replaceAll('name: sites,', 'name: sites, platform: mariadb,').replace(
    'server: db,',
    "server: '[::1]:3307',",
  );
  const { installer } = await configurationOf(text);
  t.match(installer.installTargets, [
    {
      controlDb: { platform: 'MariaDB', server: { host: '::1', port: 3307 }, schema: 'sites' },
      dataDb: { platform: 'MariaDB', server: { host: 'db', port: 3306 }, schema: 'sites' },
    },
  ]);
});

t.test('the sections beside the installer', async (t) => {
  const { pluginHost, handler, report, access, mail } = await configurationOf(SHORTEST + SECTIONS);
  t.strictSame(pluginHost, {
    inProcess: [],
    bindHost: '127.0.0.1',
    installed: { others: false },
    limits: { scripts: 10, calls: 60, waitMs: 30_000 },
  });
  t.strictSame(handler, {
    serviceName: 's',
    port: 8081,
    configPath: '/c',
    commands: [{ command: 'sh', arguments: [], maxDurationMs: HOUR }],
    maxUnpackedSize: 5 * 1_073_741_824,
    archives: { maxEntries: 10_000, maxNamesSize: 2_097_152, maxDurationMs: 15 * MINUTE },
    passEnvironment: [],
    lane: { inMemoryQueueSize: 16, workerCount: 4 },
    maxResultsPerOwner: 20 * 1_073_741_824,
    resultRetentionMs: DAY,
    historyRetentionMs: 3 * DAY,
    bindHost: '127.0.0.1',
  });
  const db = (schema: string) => ({
    server: { host: 'db', port: 5432 },
    username: 'abc',
    password: 'abc',
    name: 'installer',
    poolSize: 5,
    tls: false,
    tlsOptions,
    schema,
  });
  t.strictSame(report, {
    queryJobs: { root: '/q' },
    db: db('report'),
    lane: { inMemoryQueueSize: 20, workerCount: 4 },
    maxQueued: 10_000,
    maxQueuedPerUser: 200,
    maxDurationMs: HOUR,
    maxOutputSize: 10 * 1_073_741_824,
    retryAfterMs: MINUTE,
    retentionMs: 30 * DAY,
  });
  t.strictSame(access, {
    db: db('access'),
    registrationPath: '/app/user/registration',
    applicationPath: '/app/study-access',
    userStudyIdPrefix: '',
    permissions: { listAll: false },
    autoApproval: { enabled: true, intervalMs: HOUR },
  });
  t.equal(mail, undefined);
});

t.test('oauth and mail', async (t) => {
  const core = `{ authentication: { adminToken: ${'x'.repeat(32)}, oauth: { issuer: i, audience: a, jwksUrl: https://i/keys } } }`;
  const { containerCore, mail } = await configurationOf(
    `${SHORTEST.replace('containerCore: {}', `containerCore: ${core}`)}mail: { server: smtp, from: a@b.org }\n`,
  );
  t.strictSame(containerCore.authentication, {
    adminToken: 'x'.repeat(32),
    oauth: { issuer: 'i', audience: 'a', jwksUrl: 'https://i/keys', clockToleranceMs: 30 * SECOND, queryToken: true },
  });
  t.strictSame(mail, {
    server: { host: 'smtp', port: 587 },
    security: 'starttls',
    tlsOptions,
    from: 'a@b.org',
    timeoutMs: 30 * SECOND,
    retry: { attempts: 12, baseMs: MINUTE, maxMs: 6 * HOUR },
  });
});
