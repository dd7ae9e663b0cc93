// Installs what the benchmark measures against: packages of its own folder, Debian packages, as root, and Apache Kafka.
//   node test/bench/install.ts [--packages]     only the former

import { installKafka } from '../stack/kafka-jars.ts';
import { installMissing } from '../support/debian-packages.ts';
import { demandNone } from '../support/missing.ts';
import { installFolder } from '../support/npm-folder.ts';

/** By a file that the package brings. */
const DEBIAN: Readonly<Record<string, string>> = {
  '/usr/bin/redis-server': 'redis-server',
  '/usr/bin/wrk': 'wrk',
  '/usr/bin/pigz': 'pigz',
  '/usr/bin/bsdtar': 'libarchive-tools',
  '/usr/bin/zip': 'zip',
  '/usr/bin/7zz': '7zip',
  '/usr/sbin/nginx': 'nginx',
  '/usr/bin/strace': 'strace',
  '/usr/bin/mvn': 'maven',
  '/usr/bin/java': 'default-jre-headless',
  '/usr/bin/blast_formatter': 'ncbi-blast+',
  '/usr/bin/radosgw': 'radosgw',
  '/usr/bin/radosgw-admin': 'radosgw',
  '/usr/bin/ceph-mon': 'ceph-mon',
  '/usr/bin/ceph-osd': 'ceph-osd',
  '/usr/bin/ceph-authtool': 'ceph-common',
  '/usr/sbin/rabbitmq-server': 'rabbitmq-server',
  '/usr/sbin/slapd': 'slapd',
  '/usr/bin/ldapadd': 'ldap-utils',
  '/usr/bin/openssl': 'openssl',
};

installFolder(import.meta.dirname);
if (!process.argv.includes('--packages')) {
  installMissing(DEBIAN);
  demandNone(installKafka());
}
