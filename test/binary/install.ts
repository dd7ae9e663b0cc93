// Installs what the tests of the executable need of Debian, where it is missing.

import { installMissing } from '../support/debian-packages.ts';

installMissing({
  '/usr/lib/postgresql/*/bin/postgres': 'postgresql',
  '/usr/bin/systemd-analyze': 'systemd',
  // What the package depends on, which dpkg does not fetch.
  '/usr/sbin/adduser': 'adduser',
  '/usr/lib/x86_64-linux-gnu/libatomic.so.1': 'libatomic1',
});
