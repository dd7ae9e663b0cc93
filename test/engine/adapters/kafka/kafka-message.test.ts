import t from 'tap';
import { decodeEvent, encodeEvent } from '../../../../engine/adapters/kafka/kafka-message.ts';
import type { TriggerEvent } from '../../../../engine/model/event.ts';

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
