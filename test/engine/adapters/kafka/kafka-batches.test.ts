import t from 'tap';
import { BATCH, batches, RECORD_BYTES } from '../../../../engine/adapters/kafka/kafka-batches.ts';
import { encodeEvent } from '../../../../engine/adapters/kafka/kafka-message.ts';
import type { TriggerEvent } from '../../../../engine/model/event.ts';
import type { EventRecord } from '../../../../engine/ports/event-log.ts';

const record = (eventID: number): EventRecord => ({
  ...{ channel: 'import', key: 'key' },
  event: { eventID, userID: '42', datasetID: 'AbCdEfGhIjKlMnOp', source: 'api' } as unknown as TriggerEvent,
});
/** Events whose numbers have as many digits, so that all are of the same size. */
const records = (count: number): readonly EventRecord[] => Array.from({ length: count }, (_, n) => record(10_000 + n));
const SIZE = encodeEvent(record(10_000).event).length + 'key'.length + RECORD_BYTES;
const sizes = (count: number, maxBytes: number): readonly number[] =>
  [...batches(records(count), maxBytes)].map(({ length }) => length);

t.test('every event is in one batch, in order', async (t) => {
  for (const count of [0, 1, 2, 7, 2 * BATCH + 1])
    for (const maxBytes of [1, 3 * SIZE, 1_000_000])
      t.strictSame([...batches(records(count), maxBytes)].flat(), records(count), `${count} of ${maxBytes} bytes`);
  t.strictSame(sizes(0, SIZE), []);
});

t.test('a batch has at most 1,000 events', async (t) => {
  t.strictSame(sizes(BATCH, 1_000_000), [1_000]);
  t.strictSame(sizes(2 * BATCH + 1, 1_000_000), [1_000, 1_000, 1]);
});

t.test('a batch has at most so many bytes, but one event at least', async (t) => {
  t.strictSame(sizes(7, 3 * SIZE), [3, 3, 1]);
  t.strictSame(sizes(4, 3 * SIZE - 1), [2, 2]);
  t.strictSame(sizes(2, 1), [1, 1]);
});
