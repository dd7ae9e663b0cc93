// Migrations of the schema of the report job service.

import { programFolder } from '../../runtime/program-files.ts';
import { loadMigrations } from './load.ts';
import type { Migration } from './migrations.ts';

export const reportMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/report'));
