import { Readable } from 'node:stream';
import t from 'tap';
import { mapText } from '../../../../http/kernel/answers/json-map.ts';

const textOf = async (head: object, ...batches: (readonly (readonly [string, unknown])[])[]): Promise<string[]> => {
  const entries = Readable.from(batches);
  const pieces = [];
  for await (const piece of mapText({ head: { ...head }, name: 'map', entries })) pieces.push(piece);
  return pieces;
};

t.test('members come first, then the map, a piece for each batch', async (t) => {
  const pieces = await textOf(
    { a: 1, b: 'x' },
    [['k', { v: 1 }]],
    [
      ['"quoted"', null],
      ['m', [2]],
    ],
  );
  t.strictSame(pieces, ['{"a":1,"b":"x","map":{"k":{"v":1}', ',"\\"quoted\\"":null,"m":[2]', '}}']);
  t.strictSame(JSON.parse(pieces.join('')), { a: 1, b: 'x', map: { k: { v: 1 }, '"quoted"': null, m: [2] } });
});

t.test('without members, without entries and with empty batches it is still an object', async (t) => {
  t.strictSame(JSON.parse((await textOf({})).join('')), { map: {} });
  t.strictSame(JSON.parse((await textOf({}, [], [['k', 1]], [])).join('')), { map: { k: 1 } });
  t.strictSame(JSON.parse((await textOf({ a: true }, [])).join('')), { a: true, map: {} });
});

t.test('a failure passes through', async (t) => {
  const broken = async function* () {
    yield [['k', 1]] as const;
    throw new Error('lost');
  };
  const read = async (): Promise<void> => {
    for await (const _ of mapText({ head: {}, name: 'map', entries: broken() }));
  };
  await t.rejects(read(), { message: 'lost' });
});
