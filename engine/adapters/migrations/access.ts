// Migrations of the schema of the dataset access service.

import { join } from 'node:path';
import type { Migration } from '../migrations.ts';
import { loadMigrations } from './load.ts';

export const accessMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(join(import.meta.dirname, 'access'));
