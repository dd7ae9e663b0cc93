// Migrations of the schema of the dataset access service.

import { programFolder } from '../../program-files.ts';
import type { Migration } from '../migrations.ts';
import { loadMigrations } from './load.ts';

export const accessMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/access'));
