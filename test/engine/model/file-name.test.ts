import t from 'tap';
import { checkFileName, fileNameKey } from '../../../engine/model/file-name.ts';

t.test('a file name has at most 255 bytes of UTF-8 in its composed form', async (t) => {
  for (const [letter, bytes] of [
    ['x', 1],
    ['é', 2],
    ['表', 3],
  ] as const) {
    const most = letter.repeat(255 / bytes) + 'x'.repeat(255 % bytes);
    t.strictSame(checkFileName(most), { name: most });
    t.strictSame(checkFileName(`${most}x`), { fault: 'is longer than 255 bytes: it has 256' });
  }
  const composed = 'é'.repeat(127);
  t.strictSame(checkFileName(composed.normalize('NFD')), { name: composed }, 'as it is stored it fits');
});

t.test('names that are no labels are refused with what is wrong', async (t) => {
  for (const [name, fault] of [
    ['', /^is empty$/],
    ['.', /^must not be '\.'$/],
    ['..', /^must not be '\.\.'$/],
    ['a/b', /^must not hold \/ or \\$/],
    ['a\\b', /^must not hold \/ or \\$/],
    ['a\nb', /^must not hold .*U\+000A/],
    ['a\u202eb', /^must not hold .*U\+202E/],
    ['a\ud800', /^must not hold half of a surrogate pair$/],
  ] as const)
    t.match(checkFileName(name), { fault }, JSON.stringify(name));
});

t.test('names clash when they differ in case or Unicode form only', async (t) => {
  t.equal(fileNameKey('GRÖSSE.txt'), fileNameKey('größe.txt'.replace('ß', 'ss').normalize('NFD')));
  t.not(fileNameKey('a.txt'), fileNameKey('b.txt'));
});
