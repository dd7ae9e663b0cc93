import t from 'tap';
import { cutTo, displayWidth, padTo } from '../../../../bin/cli/terminal/table.ts';
import { terminalOf } from '../../../../bin/cli/terminal/terminal.ts';
import {
  bytes,
  digits,
  duration,
  jsonDocument,
  jsonLine,
  oneLine,
  plainLines,
} from '../../../../bin/cli/terminal/text.ts';

t.test('nothing that a terminal would obey is left of text', async (t) => {
  const lines = {
    'a\n\tb  c': 'a b c',
    '\u001b[31mred\u001b[0m \u001b]0;title\u0007x': 'red x',
    'a\u009b2Jb\u0007c\u0000': 'ab c ',
    'txt.\u202Egpj.exe\u2066': 'txt.gpj.exe',
    '\ud800': '\ufffd',
    'naïve 世界 👩‍🔬': 'naïve 世界 👩‍🔬',
  };
  for (const [text, left] of Object.entries(lines)) t.equal(oneLine(text), left);
  t.equal(plainLines('a\u001b[2J\n  b\r\n'), 'a\n  b \n');
});

t.test('widths are those of a terminal', async (t) => {
  const widths = {
    '': 0,
    genes: 5,
    naïve: 5,
    'nai\u0308ve': 5,
    世界: 4,
    한글: 4,
    '👩‍🔬': 2,
    'a\u200bb': 2,
    '｢': 1,
    Ａ: 2,
  };
  for (const [text, width] of Object.entries(widths)) t.equal(displayWidth(text), width, text);
});

t.test('what is too long ends with an ellipsis, and nothing is cut in two', async (t) => {
  t.equal(cutTo(5, 'genes'), 'genes');
  t.equal(cutTo(4, 'genes'), 'gen…');
  t.equal(cutTo(4, '世界地図'), '世…');
  t.equal(cutTo(3, 'a👩‍🔬b'), 'a…');
  t.equal(cutTo(1, 'genes'), '…');
  t.equal(cutTo(0, 'genes'), '');
  t.equal(padTo(5, '世界'), '世界 ');
  t.equal(padTo(5, '42', 'right'), '   42');
  t.equal(padTo(1, '42'), '42');
});

t.test('amounts have three digits and a unit', async (t) => {
  t.strictSame([0, 999, 1_000, 12_345, 999_499, 999_500, 2 ** 40].map(bytes), [
    ...['0 B', '999 B', '1.00 kB', '12.3 kB', '999 kB', '1.00 MB', '1.10 TB'],
  ]);
  t.strictSame([0, 0.042, 4.2, 42, 4_200].map(digits), ['0', '0.04', '4.20', '42.0', '4200']);
  t.strictSame([0, 59.6, 70, 3_599.7, 11_100, 187_200].map(duration), [
    ...['0 s', '1 m 0 s', '1 m 10 s', '1 h 0 m', '3 h 5 m', '2 d 4 h'],
  ]);
});

t.test('JSON for a terminal is the same JSON, without control characters', async (t) => {
  const value = { name: 'a\u009b2J\u202e\u2028\u007f', owner: '9007199254740993' };
  t.equal(jsonLine(value), '{"name":"a\\u009b2J\\u202e\\u2028\\u007f","owner":9007199254740993}\n');
  t.strictSame(JSON.parse(jsonLine({ name: value.name })), { name: value.name });
  t.equal(jsonDocument({ a: 1 }), '{\n  "a": 1\n}\n');
});

t.test('a terminal is one that can be drawn on', async (t) => {
  const none = { on() {}, off() {} };
  const stream = { ...none, isTTY: true, columns: 0, rows: 50, hasColors: (env: object) => !('NO_COLOR' in env) };
  const write = (): void => {};
  t.equal(terminalOf(none, {}, write), undefined);
  t.equal(terminalOf(stream, { TERM: 'dumb' }, write), undefined);
  const found = terminalOf(stream, {}, write);
  t.strictSame([found?.columns(), found?.rows(), found?.colour], [80, 50, true]);
  t.equal(terminalOf(stream, { NO_COLOR: '1' }, write)?.colour, false);
});
