import t from 'tap';
import { checkEntryPath, quoteEntry } from '../../../engine/archive/entry-path.ts';
import { checkFileName } from '../../../engine/model/file-name.ts';
import { hiddenCharacter, hiddenWords, visible } from '../../../engine/model/hidden-characters.ts';

const DIRECTION = [0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069];
const CONTROL = [0x00, 0x01, 0x07, 0x08, 0x0b, 0x0c, 0x1b, 0x1f, 0x7f, 0x80, 0x9f];
const LINES = [0x09, 0x0a, 0x0d];

t.test('every control character and every one that turns text is found, with its code and place', async (t) => {
  for (const point of [...DIRECTION, ...CONTROL]) {
    const code = `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
    const text = `a😀${String.fromCodePoint(point)}b`;
    for (const lines of [false, true]) t.match(hiddenCharacter(text, lines), { code, position: 3 }, code);
  }
  const found = hiddenCharacter('gene\u202etxt');
  t.equal(
    found && hiddenWords(found),
    'the character U+202E at position 5, a character that changes the direction of text',
  );
});

t.test('line breaks and tabs are for texts of several lines', async (t) => {
  for (const point of LINES) {
    t.ok(hiddenCharacter(String.fromCodePoint(point)));
    t.equal(hiddenCharacter(String.fromCodePoint(point), true), undefined);
  }
});

t.test('letters of all scripts, with the joiners within their words, are no fault', async (t) => {
  for (const text of ['Größe', 'می\u200cخواهم', 'क्\u200dष', 'שלום', 'مرحبا', '日本語', '👩\u200d🔬', 'a\u00adb'])
    t.equal(hiddenCharacter(text), undefined, text);
});

t.test('no name of a file has such characters, and messages show where they are', async (t) => {
  t.strictSame(checkFileName('gene\u202etxt.exe'), {
    fault: 'must not hold the character U+202E at position 5, a character that changes the direction of text',
  });
  t.strictSame(checkFileName('a\u0007'), {
    fault: 'must not hold the character U+0007 at position 2, a control character',
  });
  t.strictSame(checkFileName('a\u202e', true), { name: 'a\u202e' }, 'what is kept already can be had');
  t.ok('fault' in checkFileName('a\n', true));
  t.strictSame(checkEntryPath('x/gene\u2067.txt'), {
    fault: 'has a character that changes the direction of text in its name: U+2067 at position 7',
  });
  t.equal(quoteEntry('gene\u202etxt'), "'gene<U+202E>txt'");
  t.equal(visible('a\nb\u200fc'), 'a<U+000A>b<U+200F>c');
});
