// Events in requests that brokers take: neither too many in one, nor too many bytes.

import type { EventRecord } from '../../ports/event-log.ts';
import { encodeEvent } from './kafka-message.ts';

/** Records of one request; with the bytes of an event this stays below what brokers take by default. */
export const BATCH = 1_000;
/** Of a record beside its key and value, at most. */
export const RECORD_BYTES = 40;

/** In order; each of at most {@link BATCH} records and about `maxBytes`, but of one record at least. */
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
