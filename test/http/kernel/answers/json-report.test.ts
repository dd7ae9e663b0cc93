import t from 'tap';
import { type ReportText, reportText } from '../../../../http/kernel/answers/json-report.ts';

async function* listed(items: readonly unknown[]): AsyncGenerator<unknown> {
  yield* items;
}

async function textOf(report: ReportText): Promise<string> {
  let text = '';
  for await (const piece of reportText(report)) text += piece;
  return text;
}

t.test('a list, and what is known at its end', async (t) => {
  const rest = (count: number) => ({ meta: { count, owner: '9007199254740993' }, more: [1] });
  t.equal(
    await textOf({ name: 'results', items: listed([{ a: 1 }, 'b']), rest }),
    '{"results":[{"a":1},"b"],"meta":{"count":2,"owner":9007199254740993},"more":[1]}',
  );
  t.equal(
    await textOf({ name: 'results', items: listed([]), rest: (count) => ({ count }) }),
    '{"results":[],"count":0}',
  );
});

t.test('a list alone', async (t) => {
  t.equal(await textOf({ name: 'a "b"', items: listed([1]) }), '{"a \\"b\\"":[1]}');
  t.equal(await textOf({ name: 'ids', items: listed([]), rest: () => ({}) }), '{"ids":[]}');
});

t.test('members before the list', async (t) => {
  const head = { meta: { rows: 1, owner: '9007199254740993' } };
  t.equal(
    await textOf({ head, name: 'a', items: listed([1]) }),
    '{"meta":{"rows":1,"owner":9007199254740993},"a":[1]}',
  );
  t.equal(await textOf({ head: {}, name: 'a', items: listed([]) }), '{"a":[]}');
});

t.test('a long list comes in pieces', async (t) => {
  const items = Array.from({ length: 12_000 }, (_, n) => ({ n, text: 'x'.repeat(20) }));
  const pieces: string[] = [];
  for await (const piece of reportText({ name: 'results', items: listed(items), rest: (count) => ({ count }) }))
    pieces.push(piece);
  t.ok(pieces.length > 3);
  t.strictSame(JSON.parse(pieces.join('')), { results: items, count: 12_000 });
});
