// The version of this program, as health, service-meta and --version tell it.

import manifest from '../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;
