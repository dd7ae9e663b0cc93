// Migrations of the cache database: the engine's memory first, the catalog after it.

import { join } from 'node:path';
import type { Migration } from '../migrations.ts';
import { loadMigrations } from './load.ts';

export const cacheMigrations = (): Promise<readonly Migration[]> => loadMigrations(join(import.meta.dirname, 'cache'));
