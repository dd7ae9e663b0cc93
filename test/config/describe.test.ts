import t from 'tap';
import { keyList, suggestKey } from '../../config/describe.ts';

const keys = (count: number) => Array.from({ length: count }, (_, n) => `k${n}`);
const section = (count: number) => ({ properties: Object.fromEntries(keys(count).map((key) => [key, {}])) });

t.test('a fault lists up to 24 keys of a section, and says how many more there are', async (t) => {
  t.equal(keyList({ ...section(2), required: ['k1'] }), 'k0, k1*');
  t.equal(keyList(section(24)), keys(24).join(', '));
  t.equal(keyList(section(25)), `${keys(24).join(', ')}, .. (1 more)`);
});

t.test('the nearest key is suggested, and of equally near ones the first', async (t) => {
  t.equal(suggestKey('workerCont', ['workerLimit', 'workerCount']), 'workerCount');
  t.equal(suggestKey('wost', ['host', 'post']), 'host');
  t.equal(suggestKey('wost', ['post', 'host']), 'post');
});

t.test('another case, or dashes, are no edits', async (t) => {
  t.equal(suggestKey('POOL_SIZE', ['poolSized', 'poolSize']), 'poolSize');
});

t.test('nothing is suggested beyond two edits, of a short key beyond one', async (t) => {
  t.equal(suggestKey('pasword', ['password']), 'password');
  t.equal(suggestKey('pasowrd', ['password']), 'password');
  t.equal(suggestKey('pasort', ['password']), undefined);
  t.equal(suggestKey('prot', ['port']), 'port');
  t.equal(suggestKey('pott', ['host']), undefined);
});

t.test('a key that is longer than any is compared with none', async (t) => {
  const long = 'a'.repeat(65);
  t.equal(suggestKey(long, [long]), undefined);
  t.equal(suggestKey(long.slice(1), [long]), long);
});
