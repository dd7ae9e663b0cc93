// Migrations of a control schema.

import { programFolder } from '../../program-files.ts';
import type { Migration } from '../migrations.ts';
import { loadMigrations } from './load.ts';

export const controlMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/control'));
