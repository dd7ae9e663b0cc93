import fc from 'fast-check';
import t from 'tap';
import { readYaml } from '../../config/yaml-source.ts';

const faultsOf = (text: string): string[] =>
  readYaml(text).faults.map(({ position: { line, column }, found }) => `${line}:${column} ${found}`);

/** A text with one mistake, and the only fault that is expected. */
const MISTAKES: Record<string, string> = {
  'a:\n\thttp:\n\t\tb: 1\n\tc: {}\nd:\n  e: 1\n': '2:1 a tab as indentation (also on lines 3, 4)',
  'a:\n  b: 1\n\tc: 2\n  d: 3\ne: 4\n': '3:1 a tab as indentation',
  'a:\n  b:\n    x: 1\n \t y: 2\n  d: 3\n': '4:2 a tab as indentation',
  'a:\n\u00a0 b: 1\n  c: 2\n': '2:1 a blank that is not a space as indentation',
  'a:\n    b: 1\n  c: 2\n  d: 3\ne: 4\n': '3:3 wrong indentation',
  'a:\n  b: 1\n   c: 2\n  d: 3\n e: 4\nf: 5\n':
    '3:4 wrong indentation: deeper than the line above, which has a value already',
  '// one\na:\n  b: 1\nc: 2\n': '1:1 a comment that begins with //',
  'a:\n  b: 1\n// one\nc: 2\n// two\nd:\n  e: 5\n': '3:1 a comment that begins with // (also on line 5)',
  'a:\n  // one: x\n  b: 1\nc: 2\n': '2:3 a comment that begins with //',
  'a:\n  b: 1\n    // one\n  c: 1\n': '3:5 a comment that begins with //',
  'a:\n  b: 1 // one: x\n  c: 1\n': '2:8 a comment that begins with //',
  '// one\n# two\n\na:\n  b: 1\n': '1:1 a comment that begins with //',
  '// one\n// two\na: 1\n': '1:1 a comment that begins with // (also on line 2)',
  'a: 1\n/* one */\nc: 2\n': '2:1 a comment that begins with /*',
  'a: "hunter2\nb: 2\nc: 3\n': '1:4 a double quote that is not closed',
  'a: "hunter2\nb: "x"\nc: "y"\n': '1:4 a double quote that is not closed',
  "a:\n  p: 'hunter2\n  b: 'x'\nc: \"y\"\n": '2:6 a single quote that is not closed',
  'a: "two\n  lines"\nb: ["hunter2, x]\nc: 2\n': '3:5 a double quote that is not closed',
  "a:\n  p: it's\n  b: 'x\n  c: 5\n": '3:6 a single quote that is not closed',
  'a: [1, [2]\nb: 3\nc:\n  d: 4\n': '1:4 a [ that is not closed',
  'a: { x: [1]\nb: 3\n': '1:4 a { that is not closed',
  'a:\n  b:1\n  c: 2\nd: 3\n': "2:3 a line without 'key: value' (a blank must follow the colon)",
  'a: 1\nb: "C:\\temp\\x"\n': '2:12 an unknown escape inside double quotes (single quotes know no escapes)',
};

t.test('a mistake is one fault, at the place of the mistake', async (t) => {
  for (const [text, fault] of Object.entries(MISTAKES)) t.same(faultsOf(text), [fault], JSON.stringify(text));
});

t.test('a mistake is one fault in a file of usual length, and its place does not change', async (t) => {
  const before = Array.from(
    { length: 50 },
    (_, i) => `before${i}:\n  key: "it's" # a comment\n  url: http://a//b\n`,
  ).join('');
  const after = Array.from({ length: 50 }, (_, i) => `after${i}:\n  key: 'value'\n  list: [1, "two"]\n`).join('');
  for (const [text, fault] of Object.entries(MISTAKES)) {
    const [, line = '', rest] = /^(\d+)(:.*)$/.exec(fault) ?? [];
    const moved = `${Number(line) + 150}${rest?.replace(/\d+(?=[,)])/g, (other) => String(Number(other) + 150))}`;
    t.same(faultsOf(before + text + after), [moved], JSON.stringify(text));
  }
});

t.test('mistakes that do not hide each other are all reported', async (t) => {
  t.same(faultsOf('a: @x\nb: ok\nc: `z\n'), [
    '1:4 a value that starts with a reserved character (quote it)',
    '3:4 a value that starts with a reserved character (quote it)',
  ]);
});

t.test('slashes inside values are no comments', async (t) => {
  for (const text of ['a: http://x//y\n', 'a: "x\n  // y"\n', 'a: |\n  x\n  // y\n', 'a: b // c\n'])
    t.same(faultsOf(text), [], JSON.stringify(text));
});

t.test('lines are counted after a malformed alias', async (t) => {
  const { faults } = readYaml("*a,\nb: 'c\n");
  t.match(faults, [{ position: { line: 2, column: 4 }, found: 'a single quote that is not closed' }]);
});

t.test('whatever the text is, a fault has a place inside it and does not quote it', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'ab:  \n\n\t/*#\'"[]{},-&@Q'), maxLength: 60 });
  fc.assert(
    fc.property(text, (text) => {
      const lines = text.split('\n');
      return readYaml(text).faults.every(({ position: { line, column }, found }) => {
        const length = lines[line - 1]?.length;
        return length !== undefined && column >= 1 && column <= length + 1 && !found.includes('Q');
      });
    }),
    { numRuns: 3000 },
  );
});
