// Splits events into requests that brokers accept, by number of records and bytes.

import type { EventRecord } from '../../ports/event-log.ts';
import { encodeEvent } from './kafka-message.ts';

/** Records per request; with the size of an event this stays below the brokers' default limit. */
export const BATCH = 1_000;
/** Maximum overhead of a record besides its key and value. */
export const RECORD_BYTES = 40;

/** In order. Each batch has at most {@link BATCH} records and about `maxBytes`, but at least one record. */
export function* batches(records: readonly EventRecord[], maxBytes: number): Generator<readonly EventRecord[]> {
  let batch: EventRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = encodeEvent(record.event).length + record.key.length + RECORD_BYTES;
    if (batch.length >= BATCH || (batch.length > 0 && bytes + size > maxBytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
