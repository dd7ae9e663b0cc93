// The dependencies that a service cannot work without, so it waits for them at startup. While any other dependency is
// unavailable, only the work that needs it waits.

import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Configuration } from '../../config/configuration.ts';
import type { PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { withConnection } from '../../engine/adapters/postgres/with-connection.ts';
import { messageOf, transient } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { accessConnection } from './access-database.ts';
import { cacheConnection } from './databases.ts';
import { reportConnection } from './report-database.ts';
import { storeData } from './store-reader.ts';
import type { Dependency } from './wait-for-dependencies.ts';

interface Parts {
  readonly clock: Clock;
  readonly log: Logger;
}

/** @throws ConfigurationError when a section is invalid */
export function vitalDependencies(
  { installer, access: accessSection, report }: Pick<Configuration, 'installer' | 'access' | 'report'>,
  parts: Parts,
): readonly Dependency[] {
  return [
    { name: 'cache database', probe: reach(cacheConnection(installer.cacheDb)) },
    { name: 'object store', probe: storeProbe(installer.objectStore, parts) },
    // A service without its own database uses a schema of the cache database.
    ...(accessSection?.db
      ? [{ name: 'access database', probe: reach(accessConnection({ access: accessSection, installer })) }]
      : []),
    ...(report?.db ? [{ name: 'report database', probe: reach(reportConnection({ report, installer })) }] : []),
  ];
}

const reach = (options: PostgresOptions): Dependency['probe'] =>
  async function probe(signal) {
    await withConnection(options, (sql) => sql.query('select 1'), signal);
  };

function storeProbe(section: Configuration['installer']['objectStore'], parts: Parts): Dependency['probe'] {
  const data = storeData(section);
  if (data.driver === 'directory') return () => writable(data.path);
  return async (signal) => {
    const { S3Store } = await import('../../engine/adapters/s3/s3-store.ts');
    using store = new S3Store(data.options, parts);
    await store.probe(signal);
  };
}

/** Transient, because a file system that is not mounted or is read-only may be fixed later. */
async function writable(path: string): Promise<void> {
  try {
    await mkdir(join(path, 'objects'), { recursive: true, mode: 0o750 });
    await access(join(path, 'objects'), constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw transient(`object store ${path}: ${messageOf(error)}`, { cause: error, unreachable: true });
  }
}
