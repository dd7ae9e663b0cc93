import t from 'tap';
import { shortName } from '../../../engine/model/metadata.ts';

t.test('a short name has 3 to 20 characters, whatever white space the name has', async (t) => {
  for (const [name, short] of [
    ['abc', 'abc'],
    [`a${' '.repeat(30)}b`, 'a b'],
    ['a \t\u00a0 b', 'a b'],
    ['Nineteen characters and more', 'Nineteen characters'],
    ['𝒜'.repeat(21), '𝒜'.repeat(20)],
  ] as const)
    t.equal(shortName({ name }), short, name);
});
