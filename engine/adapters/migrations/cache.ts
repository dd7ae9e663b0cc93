// Migrations of the cache database.

import { programFolder } from '../../runtime/program-files.ts';
import { loadMigrations } from './load.ts';
import type { Migration } from './migrations.ts';

export const cacheMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/cache'));
