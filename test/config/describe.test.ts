import t from 'tap';
import { keyList } from '../../config/describe.ts';

const keys = (count: number) => Array.from({ length: count }, (_, n) => `k${n}`);
const section = (count: number) => ({ properties: Object.fromEntries(keys(count).map((key) => [key, {}])) });

t.test('a fault lists up to 24 keys of a section, and says how many more there are', async (t) => {
  t.equal(keyList({ ...section(2), required: ['k1'] }), 'k0, k1*');
  t.equal(keyList(section(24)), keys(24).join(', '));
  t.equal(keyList(section(25)), `${keys(24).join(', ')}, .. (1 more)`);
});
