// Migrations of the schema of the report job service.

import { programFolder } from '../../program-files.ts';
import type { Migration } from '../migrations.ts';
import { loadMigrations } from './load.ts';

export const reportMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/report'));
