// Installs Debian's browser where it is missing: pages are looked at in a real one.

import { installMissing } from '../support/debian-packages.ts';

installMissing({ '/usr/bin/chromium': 'chromium' });
