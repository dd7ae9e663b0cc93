import fc from 'fast-check';
import t from 'tap';
import { parseJson, stringifyJson } from '../../../engine/model/json.ts';

const FIELDS = ['owner', 'user', 'userId', 'userID', 'guestID'];

/** The obvious ways, member by member. */
const parsedSlowly = (text: string): unknown =>
  JSON.parse(text, ((key: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' && FIELDS.includes(key) && source !== undefined ? source : value) as never);
const writtenSlowly = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (key, item) =>
      FIELDS.includes(key) && typeof item === 'string' && /^(0|[1-9][0-9]{0,18})$/.test(item)
        ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(item)
        : item,
    indent,
  );

const outcome = (parse: (text: string) => unknown, text: string): unknown => {
  try {
    return parse(text);
  } catch (error) {
    return error instanceof SyntaxError ? 'no JSON' : error;
  }
};

const odd = fc.constantFrom(
  ...['"owner":5', ',"user":"7"', '\\"userID\\":1,', '{"owner": 12}', 'x"userId', '\\', '0', '42', '-1', '007', ''],
  ...['9223372036854775807', '12345678901234567890', ' ', '\n', '"', 'é', '\u2028', '1e3'],
);
const text = fc.oneof(
  odd,
  fc.string(),
  fc.array(odd, { maxLength: 4 }).map((parts) => parts.join('')),
);
const name = fc.oneof(fc.constantFrom(...FIELDS, 'id', 'x"owner', '\\owner', '__proto'), text);
const { document } = fc.letrec<{ document: unknown }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
    fc.array(tie('document'), { maxLength: 4 }),
    fc.dictionary(name, fc.oneof(text, tie('document')), { maxKeys: 5 }),
  ),
}));

t.test('what is written is what a walk over all members writes', async (t) => {
  fc.assert(
    fc.property(document, fc.constantFrom(undefined, 2), (value, indent) => {
      const written = stringifyJson(value, indent);
      return written === writtenSlowly(value, indent);
    }),
    { numRuns: 2_000 },
  );
  t.equal(stringifyJson(undefined), undefined);
  t.pass();
});

t.test('what is read is what a walk over all members reads', async (t) => {
  const same = (given: string): boolean => t.strictSame(outcome(parseJson, given), outcome(parsedSlowly, given), given);
  fc.assert(
    fc.property(document, fc.constantFrom(undefined, 2), (value, indent) => {
      const given = JSON.stringify(value, undefined, indent);
      return JSON.stringify(parseJson(given)) === JSON.stringify(parsedSlowly(given));
    }),
    { numRuns: 2_000 },
  );
  const tokens = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"owner"',
    '"user"',
    '"x"',
    '5',
    '-0',
    '05',
    '1.50',
    '1e3',
    ' ',
    '\t',
    '"',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...tokens), { maxLength: 12 }), (parts) => {
      const given = parts.join('');
      return JSON.stringify(outcome(parseJson, given)) === JSON.stringify(outcome(parsedSlowly, given));
    }),
    { numRuns: 5_000 },
  );
  for (const number of ['1', '-0', '1.50', '1e3', '05', '+1', '.5', '1.', '9223372036854775807'])
    for (const given of [`{"owner":${number}}`, `{"a":1,\n "userID" : ${number} }`, `{"o\\u0077ner":${number}}`])
      same(given);
  same('{"user":1,"user":"2"}');
  same('["owner",5,{"owner":[5,{"owner":6}]}]');
});

t.test('user ids pass digit for digit', async (t) => {
  const written = '{"owner":9223372036854775999,"name":"9223372036854775999"}';
  t.equal(stringifyJson(parseJson(written)), written);
});
