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
  openAddress,
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
export const TARGET_DB_PORTS = { Postgres: POSTGRES_PORT, MariaDB: 3306 } as const;
/** Database platforms of install targets. */
export type Platform = keyof typeof TARGET_DB_PORTS;
/** Names that PostgreSQL and MariaDB take without quoting. engine/adapters/postgres/postgres.ts accepts the same. */
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

/** Spellings of the platforms. */
const PLATFORM_NAMES = {
  Postgres: ['Postgres', 'postgres', 'PostgreSQL', 'postgresql'],
  MariaDB: ['MariaDB', 'mariadb'],
} as const satisfies Record<Platform, readonly string[]>;
/** Of the contract's second platform, which is not supported. */
const UNSUPPORTED = ['Oracle', 'oracle'] as const;
export const PLATFORMS = Object.keys(PLATFORM_NAMES).join(' or ');
const platform = nullable(
  choice(`${PLATFORMS}. Null or absent is Postgres. Other platforms are not supported.`, [
    ...PLATFORM_NAMES.Postgres,
    ...PLATFORM_NAMES.MariaDB,
    ...UNSUPPORTED,
  ]),
);

/** Undefined if it is not supported. */
export function platformOf(name: unknown): Platform | undefined {
  if (name === undefined || name === null) return 'Postgres';
  const isNamed = ([, names]: readonly [string, readonly unknown[]]): boolean => names.includes(name);
  return Object.entries(PLATFORM_NAMES).find(isNamed)?.[0] as Platform | undefined;
}

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
        'the username; on MariaDB, where a schema is a database, the `name`',
      ),
      idleTimeout: duration('Idle time after which a connection is closed.', '10m'),
      lookupCn: optional(text('Common name of the directory entry.', { minLength: 3 })),
      server: optional(
        openAddress(
          `Database server. The port defaults to ${TARGET_DB_PORTS.Postgres}, on MariaDB to ${TARGET_DB_PORTS.MariaDB}.`,
        ),
      ),
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
