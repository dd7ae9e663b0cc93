// `installer`: the sections of the contract. `objectStore` is the source of truth about datasets: the contract's form (S3,
// MinIO), or our directory driver.

import { logBroker, queueBroker } from './brokers.ts';
import { cacheDb, sharedTargetDbPooling, tlsOptions } from './database.ts';
import {
  addressesOrCsv,
  driver,
  duration,
  filled,
  flag,
  formed,
  integer,
  type Loaded,
  list,
  openAddress,
  optional,
  port,
  secret,
  section,
  size,
  text,
  union,
} from './field.ts';
import { DIRECTORY_PATTERN, installTargets } from './install-targets.ts';
import { lanes, mailboxKeys } from './lanes.ts';
import { archives, plugins } from './plugins.ts';

export const S3_PORTS = { tls: 443, plain: 80 } as const;

const s3 = section('S3, MinIO or Ceph.', {
  driver: driver('s3', { isDefault: true }),
  bucketName: text('Name of an existing bucket.', { minLength: 1 }),
  server: openAddress(`Server. The port defaults to ${S3_PORTS.tls} with HTTPS, ${S3_PORTS.plain} without.`),
  https: flag('Encrypt connections with TLS.', true),
  tlsOptions,
  accessToken: secret('Access key.', 3),
  secretKey: secret('Secret key.', 8),
  region: optional(
    text('Region of the bucket. Default: what the server returns for GetBucketLocation.', { minLength: 1 }),
  ),
  pathStyle: flag(
    "False puts the bucket into the host name (virtual-hosted style). Always so for Amazon's own hosts.",
    true,
  ),
});

const directory = section('A directory of this machine: for installations without an S3 store.', {
  driver: driver('directory'),
  path: formed<string>(
    'path',
    "Directory; created if missing. Relative paths start at the configuration file's directory.",
  ),
});

const objectStore = union('Where all datasets are stored.', [s3, directory]);

const INTERVAL = { positive: true, 'x-live': 'daemon-interval' } as const;

const daemons = filled('Periodic work. One process of the installation runs each daemon.', {
  eventRouter: filled('Turns changes of the object store into events.', {
    brokerProducerId: text('Client id with which the router publishes.', {
      minLength: 3,
      maxLength: 32,
      default: 'event-router',
    }),
  }),
  pruner: filled('Permanently removes deleted datasets.', {
    retentionWindow: duration('How long a deleted dataset is kept before it is removed.', '30d'),
    pruneInterval: duration('Between runs.', '6h', INTERVAL),
    wakeInterval: duration('Accepted for compatibility.', '2s', {
      'x-ignored': 'shutdown wakes the pruner, nothing polls',
    }),
  }),
  reconciler: filled('Keeps targets and the cache database in sync with the object store.', {
    enabled: flag('Set to false if another installation uses the same install targets.', true),
    fullRunInterval: duration(
      'Time between full runs over all install targets. In half of it, slim runs compare the whole object store, even if ' +
        'full runs are disabled.',
      '6h',
      INTERVAL,
    ),
    slimRunInterval: duration(
      'Time between runs that compare the next part of the object store with the cache database.',
      '5m',
      INTERVAL,
    ),
    performDeletes: flag('Uninstall datasets that are missing from the object store.', true),
  }),
});

export const LDAP_PORTS = { tls: 636, plain: 389 } as const;

const urlUploads = filled('Uploads that we download from a URL.', {
  enabled: flag('Accept them.', true),
  allow: list(
    'Address ranges that may be fetched from, on any port, although they are loopback, private or reserved.',
    formed<string>('cidr', 'One range.'),
    { uniqueItems: true, default: [] },
  ),
  ports: list('Allowed ports of public addresses. Addresses in `allow` may use any port.', port('One port.'), {
    minItems: 1,
    uniqueItems: true,
    default: [80, 443, 8080, 8443],
  }),
  maxRedirects: integer('Maximum number of redirects to follow; each target is checked again.', {
    minimum: 0,
    maximum: 20,
    default: 5,
  }),
  connectTimeout: duration('For connecting.', '10s', { positive: true }),
  idleTimeout: duration('For a body that makes no progress or sends less than 64 KiB in this time.', '60s', {
    positive: true,
  }),
});

const resumableUploads = filled(
  'Uploads that clients send in several requests, and continue after a cut (`/uploads`).',
  {
    expiry: duration('How long an upload waits to be continued, or used for a dataset, before it is removed.', '24h', {
      positive: true,
      'x-live': 'upload-expiry',
    }),
    perUser: integer('Resumable uploads of one user of which no dataset was made yet; further ones get 429.', {
      minimum: 1,
      maximum: 1000,
      default: 100,
    }),
  },
);

const webhooks = filled(
  'Messages about events of datasets, posted to URLs that users give (docs/webhooks.md). Off by default, because they leave the installation.',
  {
    enabled: flag('Send them.', false),
    allowHttp: flag('Accept URLs without TLS.', false),
    allow: list(
      'Address ranges that may be posted to, on any port, although they are loopback, private or reserved.',
      formed<string>('cidr', 'One range.'),
      { uniqueItems: true, default: [] },
    ),
    ports: list('Allowed ports of public addresses. Addresses in `allow` may use any port.', port('One port.'), {
      minItems: 1,
      uniqueItems: true,
      default: [443, 8443],
    }),
    perUser: integer('Webhooks of one user, and of all administrators together; further ones get 429.', {
      minimum: 1,
      maximum: 100,
      default: 10,
    }),
    connectTimeout: duration('For connecting.', '5s', { positive: true }),
    timeout: duration('For one attempt, from connecting to the end of the answer.', '15s', { positive: true }),
    retry: filled('How a message is retried that was not answered with a 2xx status.', {
      attempts: integer('Maximum number of attempts, including the first.', {
        minimum: 1,
        maximum: 100,
        default: 16,
      }),
      base: duration('Delay before the second attempt; it doubles with each attempt, with jitter.', '5s', {
        positive: true,
      }),
      max: duration('Maximum delay.', '6h', { positive: true }),
    }),
    disableAfter: duration('A webhook to which nothing could be delivered for this long is disabled.', '3d', {
      positive: true,
    }),
    lane: filled('Mailbox and workers of the lane.', mailboxKeys(16, 8)),
  },
);

const restService = filled('The installer API.', {
  maxUploadSize: size('Maximum bytes of one upload request.', { minimum: 1_048_576, default: 1_073_741_824 }),
  userMaxStorageSize: size('Bytes of raw uploads per user.', { minimum: 1_073_741_824, default: 10_737_418_240 }),
  archives,
  enableFrameworkTrace: flag('Send response headers that trace how a request was handled.', false),
  urlUploads,
  resumableUploads,
  webhooks,
  autoAcceptShares: flag('Treat a share offer as accepted until the recipient answers.', false),
});

const ldap = section(
  'Directory in which install target databases are looked up (docs/configure.md says how an entry names a database).',
  {
    servers: addressesOrCsv(
      `Servers, tried in this order. The port defaults to ${LDAP_PORTS.tls} with TLS, ${LDAP_PORTS.plain} without.`,
    ),
    baseDn: text('Where the search starts.', { minLength: 1 }),
    bindDn: optional(
      text(
        'Name to log in with, such as `cn=reader,dc=example,dc=org`. If absent, the directory is read anonymously.',
        {
          minLength: 3,
        },
      ),
    ),
    bindPassword: optional(secret('Password of `bindDn`. Without `tls` it is sent unencrypted.', 1)),
    tls: flag('Encrypt connections with TLS (ldaps).', false),
    tlsOptions,
  },
  { also: { dependentRequired: { bindDn: ['bindPassword'], bindPassword: ['bindDn'] } } },
);

export const installer = section('The dataset installer.', {
  cacheDb,
  restService,
  daemons,
  logBroker,
  lanes,
  ldap: optional(ldap),
  objectStore,
  plugins,
  queueBroker,
  siteBuild: text('Directory of the dataset files: `{siteBuild}/{installTarget}/{datasetId}`.', {
    minLength: 1,
    pattern: DIRECTORY_PATTERN,
    'x-allowed': "one directory name, without '/'",
  }),
  sharedTargetDbPooling,
  installTargets,
});
export type InstallerFile = Loaded<typeof installer>;
