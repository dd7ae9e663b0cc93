// `installer.daemons` (config/REFERENCE.md).

import { duration, filled, flag, text } from './field.ts';
import type { Loaded } from './loaded.ts';

const INTERVAL = { positive: true, 'x-live': 'daemon-interval' } as const;

export const daemons = filled('Periodic work; one process of the installation runs each.', {
  eventRouter: filled('Turns changes of the object store into events.', {
    brokerProducerId: text('Client id with which the router publishes.', {
      minLength: 3,
      maxLength: 32,
      default: 'event-router',
    }),
  }),
  pruner: filled('Removes deleted datasets for good.', {
    retentionWindow: duration('That a dataset stays marked deleted before it is removed.', '30d'),
    pruneInterval: duration('Between runs.', '6h', INTERVAL),
    wakeInterval: duration('Accepted for compatibility.', '2s', {
      'x-ignored': 'shutdown wakes the pruner, nothing polls',
    }),
  }),
  reconciler: filled('Brings targets and cache in step with the object store.', {
    enabled: flag('False where another installation runs against the same install targets.', true),
    fullRunInterval: duration('Between full runs, over all install targets.', '6h', INTERVAL),
    slimRunInterval: duration('Between runs over the cache DB alone.', '5m', INTERVAL),
    performDeletes: flag('Uninstall datasets that the object store does not have.', true),
  }),
});
export type DaemonsConfiguration = Loaded<typeof daemons>;
