// Migrations of a control schema.

import { programFolder } from '../../runtime/program-files.ts';
import { loadMigrations } from './load.ts';
import type { Migration } from './migrations.ts';

export const controlMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/control'));
