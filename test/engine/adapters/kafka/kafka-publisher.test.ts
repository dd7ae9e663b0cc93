import t from 'tap';
import {
  BATCH,
  batches,
  decodeEvent,
  encodeEvent,
  RECORD_BYTES,
} from '../../../../engine/adapters/kafka/kafka-publisher.ts';
import type { TriggerEvent } from '../../../../engine/model/event.ts';
import type { EventRecord } from '../../../../engine/ports/event-log.ts';

const EVENT = {
  eventID: 9_007_199_254_740_991,
  userID: '9223372036854775999',
  datasetID: '0123456789abcdef_2',
  source: 'slim-reconciler',
} as unknown as TriggerEvent;

const TEXT =
  '{"eventID":9007199254740991,"userID":9223372036854775999,"datasetID":"0123456789abcdef_2","source":"slim-reconciler"}';

t.test('an event is JSON with the user id as a number, digit for digit', async (t) => {
  t.equal(encodeEvent(EVENT), TEXT);
  t.strictSame(decodeEvent(Buffer.from(TEXT)), EVENT);
});

t.test('fields that we do not know are left out, a user id may be text', async (t) => {
  const more = TEXT.replace('9223372036854775999', '"9223372036854775999"').replace('{', '{"more":[1],');
  t.strictSame(decodeEvent(Buffer.from(more)), EVENT);
});

t.test('what is no event is undefined', async (t) => {
  const not = (from: string, to: string): string => TEXT.replace(from, to);
  const others = [
    '',
    'null',
    '7',
    '[]',
    '{}',
    TEXT.slice(1),
    not('9007199254740991', '9007199254740992'),
    not('9007199254740991', '1.5'),
    not('9007199254740991', '-1'),
    not('9007199254740991', '"1"'),
    not('9223372036854775999', '0'),
    not('9223372036854775999', '9223372036854776001'),
    not('0123456789abcdef_2', ''),
    not('0123456789abcdef_2', '../x'),
    not('slim-reconciler', 'somebody'),
  ];
  for (const text of others) t.equal(decodeEvent(Buffer.from(text)), undefined, text);
  t.equal(decodeEvent(null), undefined);
});

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
