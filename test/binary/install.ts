// Installs what the tests of the executable need of Debian, where it is missing.

import { installMissing } from '../support/debian-packages.ts';

installMissing({
  '/usr/lib/postgresql/*/bin/postgres': 'postgresql',
  '/usr/bin/systemd-analyze': 'systemd',
});
