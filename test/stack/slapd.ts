// OpenLDAP's server as a plain process, with the entries of a test, plain and with TLS.

import { execFileSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '../support/ports.ts';
import { makeCertificate } from './certificate.ts';
import { ServerProcess } from './server-process.ts';

export const BASE_DN = 'cn=databases,dc=example,dc=test';

export interface DirectoryEntry {
  readonly cn: string;
  /** Names of classes, with the values of their attributes. */
  readonly classes: readonly string[];
  readonly attributes: Readonly<Record<string, readonly string[]>>;
  /** Below the base; the base itself when absent. */
  readonly below?: string;
}

export interface Slapd extends AsyncDisposable {
  readonly port: number;
  readonly tlsPort: number;
  /** PEM of the authority that signed its certificate, for localhost and 127.0.0.1. */
  readonly caFile: string;
  /** While it runs. */
  readonly pid: number;
  /** Adds an entry, in the place of one of the same name. */
  put(entry: DirectoryEntry): void;
  pause(): void;
  continue(): void;
  stop(): Promise<void>;
  start(): Promise<void>;
}

const ROOT_DN = 'cn=admin,dc=example,dc=test';
const ROOT_PASSWORD = 'stack-secret';

/** Attributes and classes of entries that say where databases are. The numbers are of the arc for tests. */
const SCHEMA = `
attributetype ( 2.25.1.1 NAME 'pgConnectionParam' EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 2.25.1.2 NAME 'orclNetDescString' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
objectclass ( 2.25.2.1 NAME 'PostgresServiceContext' SUP top STRUCTURAL MUST cn MAY ( pgConnectionParam $ description ) )
objectclass ( 2.25.2.2 NAME 'orclNetService' SUP top STRUCTURAL MUST cn MAY ( orclNetDescString $ description ) )
`;

const SEED = `dn: dc=example,dc=test
objectClass: dcObject
objectClass: organization
o: example
dc: example

dn: ${BASE_DN}
objectClass: applicationProcess
cn: databases

dn: cn=reader,dc=example,dc=test
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: planted-reader-password
`;
/** Who may read if anonymous clients may not. */
export const READER = { dn: 'cn=reader,dc=example,dc=test', password: 'planted-reader-password' };

const RIGHTS = {
  everyone: ['access to * by * read'],
  readers: ['access to attrs=userPassword by anonymous auth', 'access to * by users read by anonymous auth'],
  'encrypted readers': [
    'security simple_bind=128',
    'access to attrs=userPassword by anonymous auth',
    'access to * by users read by anonymous auth',
  ],
} as const;

/** @param dir made; everything of it goes there */
export async function startSlapd(dir: string, readBy: keyof typeof RIGHTS = 'everyone'): Promise<Slapd> {
  const [port = 0, tlsPort = 0] = await freePorts(2);
  await mkdir(join(dir, 'data'), { recursive: true });
  const { caFile, certFile, keyFile } = makeCertificate(dir);
  const config = join(dir, 'slapd.conf');
  await writeFile(join(dir, 'databases.schema'), SCHEMA);
  await writeFile(join(dir, 'seed.ldif'), SEED);
  await writeFile(
    config,
    [
      ...['core', 'cosine', 'inetorgperson'].map((name) => `include /etc/ldap/schema/${name}.schema`),
      `include ${join(dir, 'databases.schema')}`,
      `pidfile ${join(dir, 'pid')}`,
      'modulepath /usr/lib/ldap',
      'moduleload back_mdb',
      `TLSCACertificateFile ${caFile}`,
      `TLSCertificateFile ${certFile}`,
      `TLSCertificateKeyFile ${keyFile}`,
      'database mdb',
      'maxsize 67108864',
      'suffix "dc=example,dc=test"',
      `rootdn "${ROOT_DN}"`,
      `rootpw ${ROOT_PASSWORD}`,
      `directory ${join(dir, 'data')}`,
      'index objectClass,cn eq',
      ...RIGHTS[readBy],
      '',
    ].join('\n'),
  );
  execFileSync('/usr/sbin/slapadd', ['-f', config, '-l', join(dir, 'seed.ldif')], { stdio: 'pipe' });
  const command = {
    program: '/usr/sbin/slapd',
    args: ['-d', '0', '-f', config, '-h', `ldap://127.0.0.1:${port} ldaps://127.0.0.1:${tlsPort}`],
    log: join(dir, 'log'),
    ports: [port, tlsPort],
  };
  let server: ServerProcess | undefined = await ServerProcess.start(command);
  const tools = { stdio: 'pipe', env: { ...process.env, LDAPTLS_CACERT: caFile } } as const;
  const asRoot = ['-x', '-H', `ldaps://127.0.0.1:${tlsPort}`, '-D', ROOT_DN, '-w', ROOT_PASSWORD];
  return {
    port,
    tlsPort,
    caFile,
    get pid() {
      if (!server) throw new Error('it does not run');
      return server.pid;
    },
    put({ cn, classes, attributes, below }) {
      const dn = `cn=${cn},${below === undefined ? '' : `${below},`}${BASE_DN}`;
      const values = Object.entries(attributes).flatMap(([name, all]) => all.map((value) => `${name}: ${value}`));
      const entry = [`dn: ${dn}`, ...classes.map((name) => `objectClass: ${name}`), `cn: ${cn}`, ...values, ''];
      try {
        execFileSync('ldapdelete', [...asRoot, dn], tools);
      } catch {
        // There was none.
      }
      execFileSync('ldapadd', asRoot, { ...tools, input: entry.join('\n') });
    },
    pause: () => server?.pause(),
    continue: () => server?.continue(),
    async stop() {
      await server?.[Symbol.asyncDispose]();
      server = undefined;
    },
    async start() {
      server ??= await ServerProcess.start(command);
    },
    async [Symbol.asyncDispose]() {
      await server?.[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
