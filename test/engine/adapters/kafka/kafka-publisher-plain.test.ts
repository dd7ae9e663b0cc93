import fc from 'fast-check';
import t from 'tap';
import { encodeEvent, parsedEvent, plainEvent } from '../../../../engine/adapters/kafka/kafka-publisher.ts';
import { EVENT_SOURCES, type TriggerEvent } from '../../../../engine/model/event.ts';

const EVENT = { eventID: 7, userID: '42', datasetID: 'd1', source: 'api' } as unknown as TriggerEvent;
const TEXT = encodeEvent(EVENT);

t.test('every event that we write is read, but those of the longest numbers', async (t) => {
  for (const source of EVENT_SOURCES) {
    const event = { ...EVENT, source };
    t.strictSame(plainEvent(Buffer.from(encodeEvent(event))), event);
  }
  t.strictSame(plainEvent(Buffer.from(TEXT.replace('}', ',"note":"of others","n":12}'))), EVENT);
  t.equal(plainEvent(Buffer.from(TEXT.replace('42', '9223372036854775999'))), undefined);
  t.equal(plainEvent(Buffer.from(TEXT.replace('7', '9007199254740991'))), undefined);
});

t.test('what is read is what the parser reads, whatever the bytes are', async (t) => {
  const piece = fc.constantFrom(
    ...['"eventID"', '"userID"', '"datasetID"', '"source"', '"note"', ':', ',', '{', '}', '7', '0', '-1', '01', '1e3'],
    ...[
      '"d1"',
      '"../d"',
      '"api"',
      '"nobody"',
      '"a\\u0062"',
      '"\\"',
      '"é"',
      '"\u0001"',
      ' ',
      '\n',
      'null',
      '9007199254740993',
    ],
    ...[',"note":"x"', ',"source":"admin"', ',"userID":1', TEXT, TEXT.slice(0, -1), '1'.repeat(20)],
  );
  const written = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  const edited = fc.tuple(fc.nat(TEXT.length), fc.nat(3), written).map(([at, cut, put]) => {
    return TEXT.slice(0, at) + put + TEXT.slice(at + cut);
  });
  const bytes = fc.oneof(
    fc.oneof(written, edited).map((text) => Buffer.from(text)),
    edited.map((text) => Buffer.from(text, 'latin1')),
  );
  let plain = 0;
  fc.assert(
    fc.property(bytes, (value) => {
      const event = plainEvent(value);
      if (event === undefined) return true;
      plain++;
      return JSON.stringify(event) === JSON.stringify(parsedEvent(value));
    }),
    { numRuns: 20_000 },
  );
  t.ok(plain > 100, `${plain} were read by the pattern`);
});
