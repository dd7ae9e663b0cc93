// Databases: the cache DB of the installer, and the forms that install targets and other services use. TLS: the same keys for
// every dependency, and for our own listeners.

import {
  address,
  choice,
  derived,
  duration,
  filled,
  flag,
  formed,
  integer,
  type Loaded,
  nullable,
  optional,
  secret,
  section,
  text,
} from './field.ts';

/** Is next to the switch that turns TLS on (`tls`, or `https` of the object store). */
export const tlsOptions = filled("How the server's certificate is verified when TLS is on.", {
  caFile: optional(formed<string>('file', "PEM file of trusted certificate authorities, instead of the system's.")),
  verify: flag('False accepts any certificate. For tests only; every start logs a warning.', true),
});
export type TlsOptions = Loaded<typeof tlsOptions>;

export const listenerTls = section('Serve HTTPS instead of HTTP.', {
  certFile: formed<string>('file', 'PEM file of the certificate chain.'),
  keyFile: formed<string>('file', 'PEM file of the private key.'),
  includeSubDomains: flag(
    'Send HSTS with `includeSubDomains`: browsers use only TLS for all subdomains for a year. Enable only if all of them support it.',
    false,
  ),
});

const POSTGRES_PORT = 5432;
/** Names that PostgreSQL takes without quoting. engine/adapters/postgres/postgres.ts accepts the same. */
export const SCHEMA_PATTERN = '^[A-Za-z_][A-Za-z0-9_]{0,62}$';
export const SCHEMA_ALLOWED = 'a schema name: letters, digits and _, no digit first, 3..63 characters';

const tls = flag('Encrypt connections with TLS.', false);
const poolSize = (minimum: number, maximum: number, value: number) =>
  integer('Connections.', {
    minimum,
    maximum,
    default: value,
    'x-allowed': `a whole number ${minimum}..${maximum} for each process: all of them share max_connections of the server`,
  });

const serverKeys = {
  server: address('PostgreSQL server.', POSTGRES_PORT),
  username: text('Role.', { minLength: 3 }),
  password: secret('Password of the role.', 3),
  name: text('Database.', { minLength: 3, default: 'installer' }),
  poolSize: poolSize(1, 32, 5),
  tls,
  tlsOptions,
};

export const cacheDb = section('Index, jobs, leases, quota and accounts of the installer.', serverKeys);

/** The database of a service whose tables are not in the cache DB. */
export const serviceDb = (schema: string) =>
  section('PostgreSQL database of this service. Default: the cache database.', {
    ...serverKeys,
    schema: text('Schema of the tables.', {
      minLength: 3,
      pattern: SCHEMA_PATTERN,
      default: schema,
      'x-allowed': SCHEMA_ALLOWED,
    }),
  });

/** Spellings of the contract's two platforms; only the first is supported. */
export const POSTGRES_NAMES = ['Postgres', 'postgres', 'PostgreSQL', 'postgresql'] as const;
const platform = nullable(
  choice('Null or absent is Postgres; the other platform of the contract is not supported.', [
    ...POSTGRES_NAMES,
    'Oracle',
    'oracle',
  ]),
);

/** One database of an install target. */
export const targetDb = (purpose: string) =>
  section(
    `${purpose} Found through the directory (\`lookupCn\`), or given as \`server\`, \`name\`, \`platform\`.`,
    {
      username: text('Role.', { minLength: 3 }),
      password: secret('Password of the role.', 8),
      poolSize: poolSize(5, 32, 5),
      schema: derived(
        text('Schema of the tables.', { minLength: 3, pattern: SCHEMA_PATTERN, 'x-allowed': SCHEMA_ALLOWED }),
        'the username',
      ),
      idleTimeout: duration('Idle time after which a connection is closed.', '10m'),
      lookupCn: optional(text('Common name of the directory entry.', { minLength: 3 })),
      server: optional(address('Database server.', POSTGRES_PORT)),
      name: optional(text('Database.', { minLength: 1 })),
      platform: optional(platform),
      tls,
      tlsOptions,
    },
    {
      also: {
        oneOf: [
          { required: ['lookupCn'], properties: { server: false, name: false, platform: false } },
          { required: ['server', 'name'], properties: { lookupCn: false } },
        ],
        'x-forms': 'exactly one connection form: `lookupCn`, or `server`, `name` and `platform`',
      },
    },
  );
export type TargetDbFile = Loaded<ReturnType<typeof targetDb>>;

export const sharedTargetDbPooling = filled(
  'Connection pools shared by install targets with the same server, database and user.',
  {
    poolSize: poolSize(5, 255, 20),
    idleTimeout: duration('Idle time after which a connection is closed.', '10m'),
  },
);
