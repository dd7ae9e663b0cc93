import t from 'tap';
import type { DatasetId } from '../../../engine/model/ids.ts';
import type { ListSort } from '../../../engine/ports/dataset-queries.ts';
import { cursorOf, placeOf } from '../../../http/installer/list-cursor.ts';

const dataset = '0VbfWYbontYX1Se4' as DatasetId;

t.test('a cursor is read as it was written, by its own list only', async (t) => {
  for (const [sort, keys] of [
    ['created', ['1767322800123456']],
    ['updated', ['-62135596800000000']],
    ['name', ['größe 🧬 "]\\']],
    ['name', ['']],
    ['size', ['1099511627776']],
    ['relevance', ['0.06079271', '1767322800123456']],
    ['relevance', ['1e-20', '0']],
  ] as const) {
    const cursor = cursorOf({ keys, dataset }, 'this list');
    t.match(cursor, /^[\w-]+$/, 'fits into a URL');
    t.strictSame(placeOf(cursor, 'this list', sort), { keys, dataset }, sort);
    t.equal(placeOf(cursor, 'another list', sort), undefined);
  }
});

t.test('a cursor that was altered, or that the database could not read, is none', async (t) => {
  const cursor = cursorOf({ keys: ['1767322800123456'], dataset }, 'list');
  for (let at = 0; at < cursor.length; at++) {
    const altered = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'Q' : 'A'}${cursor.slice(at + 1)}`;
    t.equal(placeOf(altered, 'list', 'created'), undefined, `character ${at}`);
  }
  for (const text of [
    '',
    'x',
    '===',
    cursor.slice(0, -4),
    `${cursor}AAAA`,
    'null',
    Buffer.from('[]').toString('base64url'),
  ])
    t.equal(placeOf(text, 'list', 'created'), undefined, text);
  // Whoever knows how a cursor is made can make these.
  const made = (sort: ListSort, keys: readonly string[], id: string = dataset) =>
    placeOf(cursorOf({ keys, dataset: id as DatasetId }, 'list'), 'list', sort);
  for (const [sort, key] of [
    ...(['now', '', '1e3', '123456789012345678', 'infinity', '1.5', '1 '] as const).map(
      (key) => ['created', key] as const,
    ),
    ...(['-1', '1e3', '9999999999999999999', ''] as const).map((key) => ['size', key] as const),
    ...['\0', 'a'.repeat(401), '\ud800'].map((key) => ['name', key] as const),
  ] as const)
    t.equal(made(sort, [key]), undefined, `${sort} ${JSON.stringify(key).slice(0, 30)}`);
  for (const rank of ['NaN', 'Infinity', '1e99', '1e-60', '-1', ''])
    t.equal(made('relevance', [rank, '0']), undefined, rank);
  t.equal(made('created', []), undefined);
  t.equal(made('created', ['1', '2']), undefined);
  t.equal(made('created', ['1'], 'no/id'), undefined);
});
