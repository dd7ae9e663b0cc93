// Migrations of the schema of the report job service.

import { join } from 'node:path';
import type { Migration } from '../migrations.ts';
import { loadMigrations } from './load.ts';

export const reportMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(join(import.meta.dirname, 'report'));
