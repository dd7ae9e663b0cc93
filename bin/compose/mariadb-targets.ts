// Install targets on MariaDB. Loaded only if the configuration has one.

import { MariaDb } from '../../engine/adapters/mariadb/mariadb.ts';
import { MariaDbInstallTarget } from '../../engine/adapters/sites/install-target-mariadb.ts';
import { MariaDbSiteGrants } from '../../engine/adapters/sites/site-grants-mariadb.ts';
import { MariaDbTargetIndex } from '../../engine/adapters/sites/target-index-mariadb.ts';
import type { TargetPlatform } from './target-databases.ts';

export const MARIADB: TargetPlatform = {
  open: (connection, { clock, log }) => new MariaDb(connection, clock, log),
  ports: (database, options) => ({
    target: new MariaDbInstallTarget(database, options),
    grants: new MariaDbSiteGrants(database, options),
  }),
  index: (database, options) => new MariaDbTargetIndex(database, options),
};
