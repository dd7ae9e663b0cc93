// Copies what happens to requests for users' datasets to the installer's events: a request to its owner and managers, a decision
// and the end of a grant to the person who asked. The two databases are separate, so a row is removed after its copy; a copy
// that is repeated is stored once. Every process runs this.

import type { AccessEvent, AccessEvents } from '../../engine/ports/access-requests.ts';
import type { CopiedEvent, DatasetEvents } from '../../engine/ports/dataset-events.ts';
import { Timer, type TimerParts } from '../../engine/runtime/timer.ts';

interface AccessEventsOptions extends TimerParts {
  readonly accessEvents: AccessEvents;
  readonly datasetEvents: Pick<DatasetEvents, 'copy'>;
}

const PERIOD_MS = 2_000;
const EXPIRY_PERIOD_MS = 3_600_000;
const AT_ONCE = 100;

/** A run returns how many were copied. */
export function copyAccessEvents({ accessEvents, datasetEvents, ...parts }: AccessEventsOptions): Timer<number> {
  let expiryAt = 0;
  return new Timer({
    ...parts,
    name: 'accessEvents',
    periodMs: PERIOD_MS,
    async runOnce(signal) {
      const now = parts.clock.now();
      if (now >= expiryAt) {
        await accessEvents.queueExpiring(new Date(now), signal);
        expiryAt = now + EXPIRY_PERIOD_MS;
      }
      for (let copied = 0; ; ) {
        const queued = await accessEvents.queued(AT_ONCE, signal);
        if (queued.length === 0) return copied;
        await datasetEvents.copy(queued.flatMap(copiesOf), signal);
        await accessEvents.copied(queued, signal);
        copied += queued.length;
      }
    },
  });
}

/** One for each addressee. */
function copiesOf({ key, kind, at, dataset, owner, requester, managers, ends }: AccessEvent): readonly CopiedEvent[] {
  const addressees = kind === 'access-requested' ? new Set([owner, ...managers]) : [requester];
  const detail = ends ? { ends: ends.toISOString() } : {};
  return [...addressees].map((addressee) => ({
    ...{ kind, at, dataset, owner, addressee, detail },
    source: `access ${key} ${addressee}`,
  }));
}
