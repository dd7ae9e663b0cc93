import { webcrypto } from 'node:crypto';
import t from 'tap';
import {
  newDatasetId,
  parseDatasetId,
  parseUserId,
  revisionNumber,
  revisionOf,
  rootOf,
} from '../../../engine/model/ids.ts';

const random = (bytes: Uint8Array<ArrayBuffer>) => webcrypto.getRandomValues(bytes);

t.test('a dataset id has 16 letters or digits and sorts by time', async (t) => {
  const first = newDatasetId(1_700_000_000_000, random);
  const second = newDatasetId(1_700_000_000_001, random);
  t.match(first, /^[0-9A-Za-z]{16}$/);
  t.equal(Buffer.compare(Buffer.from(first), Buffer.from(second)), -1);
  t.not(newDatasetId(1, random), newDatasetId(1, random));
});

t.test('a revision knows its root and its number', async (t) => {
  const root = newDatasetId(1_700_000_000_000, random);
  const third = revisionOf(root, 3);
  t.equal(rootOf(third), root);
  t.equal(rootOf(root), root);
  t.equal(revisionNumber(third), 3);
  t.equal(revisionNumber(root), 0);
  t.equal(parseDatasetId(third), third);
  const ofOthers = parseDatasetId(`${root}.2`);
  t.ok(ofOthers, 'as another installer names it');
  t.strictSame(ofOthers && [rootOf(ofOthers), revisionNumber(ofOthers)], [root, 2]);
  const original = parseDatasetId('without-a-number_');
  t.equal(original && rootOf(original), original);
  const dated = parseDatasetId('taken_2024-on-site');
  t.equal(dated && rootOf(dated), dated, 'a number in the middle is none of a revision');
  const nameless = parseDatasetId('_1');
  t.ok(nameless, 'an id of another installer');
  t.equal(nameless && rootOf(nameless), nameless, 'no dataset has an empty id');
});

t.test('a user id is a whole number from 1 to 9223372036854776000', async (t) => {
  const good = ['1', '42', '999999999999999999', '9223372036854775807', '9223372036854776000'];
  t.strictSame(good.map(parseUserId), good);
  const beyond = ['9223372036854776001', '9999999999999999999', '10000000000000000000', '12345678901234567890'];
  for (const bad of ['0', '-1', '01', '1.5', 'x', '', ...beyond]) t.equal(parseUserId(bad), undefined, bad);
});

t.test('a dataset id has letters, digits, _, - and dots, and does not begin with a dot', async (t) => {
  for (const bad of ['', '.', '..', '.a', 'a/b', 'a b', 'a\n', 'x'.repeat(65)]) t.equal(parseDatasetId(bad), undefined);
});
