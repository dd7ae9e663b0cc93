import t from 'tap';
import { addressKey, isEmail } from '../../../engine/model/access-mail.ts';

t.test('addresses are compared in NFC, with ASCII letters in lower case', async (t) => {
  for (const [one, other] of [
    ['Karl@LAB.Example', 'karl@lab.example'],
    ['u\u0308we@lab.example', '\u00FCwe@lab.example'],
    ['\u212Bke@lab.example', '\u00C5ke@lab.example'],
  ] as const)
    t.equal(addressKey(one), addressKey(other), one);
});

t.test('no other letters are one', async (t) => {
  for (const [one, other] of [
    ['\u00DCwe@lab.example', '\u00FCwe@lab.example'],
    ['\uFF4Barl@lab.example', 'karl@lab.example'],
    ['\u017Fam@lab.example', 'sam@lab.example'],
    ['\u0130da@lab.example', 'ida@lab.example'],
  ] as const)
    t.not(addressKey(one), addressKey(other), one);
});

t.test('a character that normalization would make an ASCII one equals nothing, and is in no address', async (t) => {
  const made: string[] = [];
  for (let code = 0x80; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    if (!/^\p{ASCII}$/u.test(character.normalize('NFC'))) continue;
    made.push(character);
    t.equal(addressKey(`a${character}@lab.example`), undefined, code.toString(16));
    t.notOk(isEmail(`a${character}@lab.example`), code.toString(16));
  }
  t.ok(made.includes('\u212A'));
  t.equal(addressKey('a\uD800@lab.example'), undefined, 'half a character');
});
