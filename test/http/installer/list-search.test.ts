import t from 'tap';
import { searchOf } from '../../../http/installer/list-search.ts';

const fault = (sentence: string): Error => new Error(sentence);
const searched = (q: string) => {
  const { words, beginnings } = searchOf(q, fault);
  return [words, beginnings];
};

t.test('words, phrases and exclusions stay; a name with punctuation becomes a phrase', async (t) => {
  for (const [q, words] of [
    ['gene', 'gene'],
    ['  gene\tlist ', 'gene list'],
    ['gene or list', 'gene or list'],
    ['-gene', '-gene'],
    ['--gene', '-gene'],
    ['"gene list" -"a b"', '"gene list" -"a b"'],
    ['"or"', '"or"'],
    ['"never closed', '"never closed"'],
    ['PF3D7_0417200', '"PF3D7 0417200"'],
    ['-PF3D7_0417200.1', '-"PF3D7 0417200 1"'],
    ['10.1093/nar/gkad1060', '"10 1093 nar gkad1060"'],
    ["O'Neil & Sons, Ltd. (UK)", '"O Neil" Sons Ltd UK'],
    ['"a_b, c"', '"a b c"'],
    ['<script>', 'script'],
    [`a' | 'b`, 'a b'],
    ['Größe λ', 'Größe λ'],
    ['gene"phrase here"', 'gene "phrase here"'],
  ] as const)
    t.strictSame(searched(q), [words, ''], q);
});

t.test('a star after a word asks for its beginning', async (t) => {
  for (const [q, words, beginnings] of [
    ['PF3D7_0417*', '', "('pf3d7' <-> '0417':*)"],
    ['gene* -abc* list', 'list', "('gene':*) & !('abc':*)"],
    ['a:*|b&!c(des)*', '', "('a' <-> 'b' <-> 'c' <-> 'des':*)"],
    ["x'y'::zzz\\*", '', "('x' <-> 'y' <-> 'zzz':*)"],
    ['"not so*"', '"not so"', ''],
    ['* gene', 'gene', ''],
  ] as const)
    t.strictSame(searched(q), [words, beginnings], q);
});

t.test('what cannot be searched says why', async (t) => {
  for (const q of [' ', '-', '""', '*', '_ . "-"', '!&|']) t.throws(() => searched(q), /^has no word: /, q);
  for (const q of ['ab*', 'gene list_ab*', '-é*']) t.throws(() => searched(q), /at least 3 characters before '\*'/, q);
  t.throws(() => searched('gene or lis*'), /^has both 'or' and '\*'/);
});
