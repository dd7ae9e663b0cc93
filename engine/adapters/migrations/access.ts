// Migrations of the schema of the dataset access service.

import { programFolder } from '../../runtime/program-files.ts';
import { loadMigrations } from './load.ts';
import type { Migration } from './migrations.ts';

export const accessMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/access'));
