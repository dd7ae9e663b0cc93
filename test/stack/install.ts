// Installs the servers that the stack tests start, where they are missing: Debian packages, as root. The servers that the
// packages would start by themselves are not wanted and not started.
//   node test/stack/install.ts [PACKAGE ..]     only these

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** By a file that the package brings. */
const PACKAGES: Readonly<Record<string, string>> = {
  '/usr/sbin/rabbitmq-server': 'rabbitmq-server',
  '/usr/bin/radosgw': 'radosgw',
  '/usr/bin/radosgw-admin': 'radosgw',
  '/usr/bin/ceph-mon': 'ceph-mon',
  '/usr/bin/ceph-osd': 'ceph-osd',
  '/usr/bin/ceph-authtool': 'ceph-common',
  '/usr/sbin/slapd': 'slapd',
  '/usr/include/librdkafka/rdkafka_mock.h': 'librdkafka-dev',
  '/usr/bin/gcc': 'gcc',
  '/usr/include/stdlib.h': 'libc6-dev',
  '/usr/bin/openssl': 'openssl',
  '/usr/bin/blast_formatter': 'ncbi-blast+',
  '/usr/bin/zsh': 'zsh',
  '/usr/bin/fish': 'fish',
  '/usr/bin/xmllint': 'libxml2-utils',
  '/usr/bin/unzip': 'unzip',
  '/usr/bin/promtool': 'prometheus',
};

const wanted = process.argv.slice(2);
const missing = [
  ...new Set(
    Object.entries(PACKAGES)
      .filter(([file, name]) => !existsSync(file) && (wanted.length === 0 || wanted.includes(name)))
      .map(([, name]) => name),
  ),
];
if (missing.length > 0) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    console.error(`missing: ${missing.join(' ')}; only root on Debian can have them installed here`);
    process.exit(1);
  }
  console.log(`installing ${missing.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  execFileSync('apt-get', ['update', '-qq'], { stdio: 'inherit', env });
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { stdio: 'inherit', env });
}
