// Changes of the object store, at least once, in no promised order.

import type { ObjectChange } from '../model/event.ts';

export interface ChangeQueue {
  /**
   * Hands over batches (1..500) until the signal aborts, then resolves. A batch is acknowledged after `handle`
   * resolved; when it rejects, the batch comes again later and the rejection is logged.
   */
  consume(handle: (changes: readonly ObjectChange[]) => Promise<void>, signal: AbortSignal): Promise<void>;
}
