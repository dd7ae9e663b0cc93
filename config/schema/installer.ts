// `installer`: the sections of the contract, put together.

import { archives } from './archives.ts';
import { daemons } from './daemons.ts';
import { cacheDb, sharedTargetDbPooling } from './database.ts';
import {
  addressesOrCsv,
  duration,
  filled,
  flag,
  formed,
  integer,
  list,
  optional,
  port,
  section,
  text,
} from './field.ts';
import { DIRECTORY_PATTERN, installTargets } from './install-targets.ts';
import { lanes } from './lanes.ts';
import type { Loaded } from './loaded.ts';
import { logBroker } from './log-broker.ts';
import { objectStore } from './object-store.ts';
import { plugins } from './plugins.ts';
import { queueBroker } from './queue-broker.ts';
import { tlsOptions } from './tls.ts';

export const LDAP_PORTS = { tls: 636, plain: 389 } as const;

const urlUploads = filled('Uploads that we fetch from a URL.', {
  enabled: flag('Accept them.', true),
  allow: list(
    'Ranges of addresses that may be fetched from although they are loopback, private or reserved, at any port.',
    formed<string>('cidr', 'One range.'),
    { uniqueItems: true, default: [] },
  ),
  ports: list(
    'Ports of public addresses that may be fetched from; those of `allow` may be at any.',
    port('One port.'),
    {
      minItems: 1,
      uniqueItems: true,
      default: [80, 443, 8080, 8443],
    },
  ),
  maxRedirects: integer('Redirects that are followed, each checked again.', { minimum: 0, maximum: 20, default: 5 }),
  connectTimeout: duration('For connecting.', '10s', { positive: true }),
  idleTimeout: duration('For a body that stands still or brings less than 64 KiB in that time.', '60s', {
    positive: true,
  }),
});

const restService = filled('The installer API.', {
  maxUploadSize: integer('Bytes of one upload request.', { minimum: 1_048_576, default: 1_073_741_824 }),
  userMaxStorageSize: integer('Bytes of raw uploads per user.', { minimum: 1_073_741_824, default: 10_737_418_240 }),
  archives,
  enableFrameworkTrace: flag('Response headers that trace the handling of a request.', false),
  urlUploads,
  autoAcceptShares: flag('A share offer without answer counts as accepted.', false),
});
export type RestServiceConfiguration = Loaded<typeof restService>;
export type UrlUploadsConfiguration = Loaded<typeof urlUploads>;

const ldap = section('Directory in which install target databases are looked up.', {
  servers: addressesOrCsv(
    `Servers, tried in this order. The port defaults to ${LDAP_PORTS.tls} with TLS, ${LDAP_PORTS.plain} without.`,
  ),
  baseDn: text('Where the search starts.', { minLength: 1 }),
  tls: flag('Encrypt connections with TLS (ldaps).', false),
  tlsOptions,
});
export type LdapFile = Loaded<typeof ldap>;

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
