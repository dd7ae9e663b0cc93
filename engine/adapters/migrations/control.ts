// Migrations of a control schema.

import { join } from 'node:path';
import type { Migration } from '../migrations.ts';
import { loadMigrations } from './load.ts';

export const controlMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(join(import.meta.dirname, 'control'));
