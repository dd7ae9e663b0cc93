// Keys taken apart beside the obvious way: split at every slash.

import fc from 'fast-check';
import t from 'tap';
import { parseUserId } from '../../../engine/model/ids.ts';
import {
  DATASET_OBJECTS,
  demandDifferentKeys,
  FILE_FOLDERS,
  mayBeginKey,
  parseKey,
  parseKeyBelow,
  SHARE_OBJECTS,
} from '../../../engine/model/object-key.ts';

const part = fc.oneof(
  fc.constantFrom('', '1', '42', '9223372036854776000', '9223372036854776001', '0', 'a_1', 'x.y-z', 'ä', 'reports'),
  fc.constantFrom('a'.repeat(64), 'a'.repeat(65), 'a b', 'ab ', ' ab'),
  fc.constantFrom('handler', 'shares', 'constructor', ...DATASET_OBJECTS, ...FILE_FOLDERS, ...SHARE_OBJECTS),
);
const key = fc.oneof(
  fc.array(part, { maxLength: 6 }).map((parts) => parts.join('/')),
  fc.array(part, { maxLength: 3 }).map((parts) => ['42', ...parts].join('/')),
  fc.array(part, { maxLength: 4 }).map((parts) => ['42', 'a_1', ...parts].join('/')),
);

function obviously(text: string): unknown {
  if (text.startsWith('reports/') || text.startsWith('handler/')) return 'foreign';
  const [owner = '', dataset = '', ...tail] = text.split('/');
  if (!parseUserId(owner) || !/^[\w.-]{1,64}$/.test(dataset) || tail.length === 0) return undefined;
  const at = { owner, dataset };
  const [first, second, third] = tail as [string, string, string];
  const isOneOf = (items: readonly string[], item: string): boolean => items.includes(item);
  if (tail.length === 1 && isOneOf(DATASET_OBJECTS, first)) return { ...at, kind: 'object', object: first };
  if (tail.length === 2 && second !== '' && isOneOf(FILE_FOLDERS, first))
    return { ...at, kind: 'file', folder: first, name: second };
  if (tail.length === 3 && first === 'shares' && parseUserId(second) && isOneOf(SHARE_OBJECTS, third))
    return { ...at, kind: 'share', recipient: second, object: third };
  return { ...at, kind: 'unknown', rest: tail.join('/') };
}

t.test('a key is what its parts say, also when its dataset is known before', async (t) => {
  const property = fc.property(key, (text) => {
    const parsed = parseKey(text);
    t.strictSame(parsed, obviously(text), text);
    if (typeof parsed === 'object') t.strictSame(parseKeyBelow(parsed, text), parsed, text);
  });
  fc.assert(property, { numRuns: 2_000, seed: 20_260_101 });
});

t.test('the keys of one call are allowed, and differ', async (t) => {
  demandDifferentKeys([]);
  demandDifferentKeys(['1/a/x', '1/a/y', '1/a/X']);
  t.throws(() => demandDifferentKeys(['1/a/x', '1/a/y', '1/a/x']), {
    kind: 'defect',
    message: 'object key "1/a/x" is given twice',
  });
  t.throws(() => demandDifferentKeys(['1/a/x', '../y']), { kind: 'defect', message: /"..\/y" is not allowed/ });
});

t.test('keys may begin with whole segments that are names, and with any part of one', async (t) => {
  for (const prefix of ['', '1', '1/', '1/a', '1/..', '1/a/.']) t.ok(mayBeginKey(prefix), prefix);
  for (const prefix of ['/', '../', './', '1//', '1/../', '1/./a']) t.notOk(mayBeginKey(prefix), prefix);
});
