// Changes of the object store: at least once, in no particular order.

import type { ObjectChange } from '../model/event.ts';

export interface ChangeQueue {
  /**
   * Delivers batches (1..500) until the signal aborts, then resolves. A batch is acknowledged after `handle` resolved; when it
   * rejects, the rejection is logged and the batch is redelivered later.
   */
  consume(handle: (changes: readonly ObjectChange[]) => Promise<void>, signal: AbortSignal): Promise<void>;
}
