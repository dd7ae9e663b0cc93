// Where the object store's changes come from, as the configuration names it.

import type { Configuration } from '../config/configuration.ts';
import type { ChangeJournal } from '../engine/adapters/change-journal.ts';
import type { Postgres } from '../engine/adapters/postgres.ts';
import type { PostgresInstance } from '../engine/adapters/postgres-instance.ts';
import { PostgresChangeQueue } from '../engine/adapters/postgres-queue.ts';
import type { Logger } from '../engine/log.ts';
import type { ChangeQueue } from '../engine/ports/change-queue.ts';
import type { Clock } from '../engine/time.ts';
import { ConfigurationError } from './configuration-error.ts';

interface ChangeQueueParts {
  readonly db: Postgres;
  readonly instance: PostgresInstance;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface OpenChangeQueue {
  readonly changes: ChangeQueue;
  /** Of the directory store, which announces its changes itself. */
  readonly journal: ChangeJournal;
}

export function openChangeQueue(
  section: Configuration['installer']['queueBroker'],
  { db, instance, clock, log }: ChangeQueueParts,
): OpenChangeQueue {
  // What this version has no adapter for is refused by its key.
  if (section.driver !== 'postgres')
    throw new ConfigurationError(
      `installer.queueBroker: this version has no ${section.driver} adapter; use \`driver: postgres\``,
    );
  const queue = new PostgresChangeQueue(db, instance, clock, log);
  return { changes: queue, journal: queue };
}
