// Installs Debian's browser where it is missing, because pages are looked at in a real one, and the searches that reports are of.

import { installMissing } from '../support/debian-packages.ts';

installMissing({ '/usr/bin/chromium': 'chromium', '/usr/bin/blast_formatter': 'ncbi-blast+' });
