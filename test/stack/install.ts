// Installs the servers and programs that tests start, where they are missing: Debian packages, as root, and packages of PyPI and
// Apache Kafka in folders of their own.
//   node test/stack/install.ts [PACKAGE ..]     only these

import { installMissing } from '../support/debian-packages.ts';
import { installKafka } from './kafka-jars.ts';
import { PYTHON_PACKAGES } from './python-packages.ts';

/** By a file that the package brings. */
const PACKAGES: Readonly<Record<string, string>> = {
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

const wanted = process.argv.slice(2);
const chosen = Object.entries(PACKAGES).filter(([, name]) => wanted.length === 0 || wanted.includes(name));
installMissing(Object.fromEntries(chosen));
if (wanted.length === 0 || wanted.includes('kafka')) installKafka();
for (const packages of PYTHON_PACKAGES) if (wanted.length === 0 || wanted.includes(packages.name)) packages.install();
