// Installs what the tests of the executable need of Debian, where it is missing.

import { installMissing } from '../support/debian-packages.ts';

installMissing({
  '/usr/lib/postgresql/*/bin/postgres': 'postgresql',
  '/usr/bin/systemd-analyze': 'systemd',
  // What the package depends on, which dpkg does not fetch.
  '/usr/sbin/adduser': 'adduser',
  '/usr/lib/x86_64-linux-gnu/libatomic.so.1': 'libatomic1',
  // What checks the package, and reads its manual pages and completion.
  '/usr/bin/lintian': 'lintian',
  '/usr/bin/man': 'man-db',
  '/usr/bin/zsh': 'zsh',
  '/usr/bin/fish': 'fish',
});
