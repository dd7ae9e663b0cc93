// The programs that tests of this folder start, by the names that install.ts knows them by, and the tests that do without some.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DebianPackages } from '../support/debian-packages.ts';
import { GO_PROGRAMS } from './go-programs.ts';
import { PYTHON_PACKAGES } from './python-packages.ts';

/** By a file that the package brings. */
export const DEBIAN: DebianPackages = {
  '/usr/sbin/rabbitmq-server': 'rabbitmq-server',
  '/usr/bin/radosgw': 'radosgw',
  '/usr/bin/radosgw-admin': 'radosgw',
  '/usr/bin/ceph-mon': 'ceph-mon',
  '/usr/bin/ceph-osd': 'ceph-osd',
  '/usr/bin/ceph-authtool': 'ceph-common',
  '/usr/sbin/slapd': 'slapd',
  '/usr/bin/ldapadd': 'ldap-utils',
  '/usr/sbin/mariadbd': 'mariadb-server-core',
  '/usr/bin/mariadb-install-db': 'mariadb-server-core',
  '/usr/bin/mvn': 'maven',
  '/usr/bin/java': 'default-jre-headless',
  '/usr/bin/openssl': 'openssl',
  '/usr/bin/psql': 'postgresql-client',
  '/usr/bin/blast_formatter': 'ncbi-blast+',
  '/usr/bin/zsh': 'zsh',
  '/usr/bin/fish': 'fish',
  '/usr/bin/tmux': 'tmux',
  '/usr/bin/xmllint': 'libxml2-utils',
  '/usr/bin/curl': 'curl',
  '/usr/bin/chromium': 'chromium',
  '/usr/bin/zip': 'zip',
  '/usr/bin/unzip': 'unzip',
  '/usr/bin/7zz': '7zip',
  '/usr/bin/bsdtar': 'libarchive-tools',
  '/usr/bin/jar': 'default-jdk-headless',
  '/usr/bin/promtool': 'prometheus',
  '/usr/bin/python3': 'python3',
  '/usr/lib/python3*/ensurepip': 'python3-venv',
  '/usr/sbin/nginx': 'nginx-light',
  '/usr/bin/caddy': 'caddy',
};

export const PROGRAM_NAMES = [
  ...new Set([...Object.values(DEBIAN), 'kafka', ...[...PYTHON_PACKAGES, ...GO_PROGRAMS].map(({ name }) => name)]),
];

const RADOSGW = ['radosgw.ts'];
const KAFKA = ['kafka-jars.ts'];
/** Files of this folder that start the program or read what it wrote. Tests that import them need it, too; all others do not. */
export const NEEDED_BY: Readonly<Record<string, readonly string[]>> = {
  'rabbitmq-server': ['rabbitmq.ts'],
  radosgw: RADOSGW,
  'ceph-mon': RADOSGW,
  'ceph-osd': RADOSGW,
  'ceph-common': RADOSGW,
  slapd: ['slapd.ts'],
  'ldap-utils': ['slapd.ts'],
  'mariadb-server-core': ['mariadb.ts'],
  maven: KAFKA,
  'default-jre-headless': KAFKA,
  kafka: KAFKA,
  openssl: ['certificate.ts'],
  'postgresql-client': ['config-init.test.ts'],
  'ncbi-blast+': ['blast.ts', 'report-memory.test.ts'],
  zsh: ['shells.test.ts'],
  fish: ['shells.test.ts'],
  tmux: ['terminal-session.ts'],
  'libxml2-utils': ['report-formats.ts'],
  curl: ['clients/clients.ts'],
  chromium: ['tus-clients.test.ts', 'upload-clients.test.ts'],
  zip: ['archives.test.ts'],
  unzip: ['archives.test.ts', 'report-formats.test.ts'],
  '7zip': ['archives.test.ts'],
  'libarchive-tools': ['archives.test.ts'],
  'default-jdk-headless': ['archives.test.ts', 'clients/clients.ts'],
  prometheus: [],
  python3: ['archives.test.ts', 'python-packages.ts'],
  'python3-venv': ['python-packages.ts'],
  'nginx-light': ['proxy.test.ts'],
  caddy: ['proxy.test.ts'],
  'biom-format': ['biom-format.test.ts'],
  'http-clients': ['clients/clients.ts'],
  'python-client': ['python-client.test.ts'],
  schemathesis: ['fuzz-documents.test.ts'],
  minio: ['minio.ts'],
};

/** Those of the test files that need none of the programs. */
export function testsWithout(names: readonly string[], tests: readonly string[]): readonly string[] {
  const needing = new Set(
    names.flatMap((name) => NEEDED_BY[name] ?? []).map((file) => join(import.meta.dirname, file)),
  );
  return tests.filter((file) => !imported(file).some((one) => needing.has(one)));
}

/** The file and all that it imports, and what they import; types alone start nothing. */
function imported(file: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(
    /^(?:import|export) (?!type )[^;]*?from '(\.[^']+)'/gm,
  ))
    imported(join(dirname(file), path), seen);
  return [...seen];
}

/** Ends this process on a name that is none of them. */
export function demandNames(option: string, given: readonly string[], allowed: readonly string[]): void {
  const unknown = given.filter((name) => !allowed.includes(name));
  if (unknown.length === 0) return;
  console.error(`${option} must be one of ${allowed.join(', ')}, not '${unknown.join("', '")}'`);
  process.exit(2);
}
