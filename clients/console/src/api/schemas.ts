// What the routes for operators return.

import type { components } from '../../../typescript/src/installer.ts';

export type Schemas = components['schemas'];
