// The sources inside the single executable.

import t from 'tap';
import { inAscii } from '../../../bin/build/bundle.ts';

const meaning = (source: string): unknown => new Function(`return ${source}`)();

t.test('characters beyond ASCII are escaped, and mean the same', async (t) => {
  const ascii = inAscii('/^[é-ü]😀$/u /* naïve */');
  t.match(ascii, /^[\0-\x7f]+$/);
  const pattern = meaning(ascii) as RegExp;
  t.ok(pattern.test('ö😀'));
  t.notOk(pattern.test('o😀'));
});

t.test('a raw template would mean something else, so it is refused', async (t) => {
  t.throws(() => inAscii('var cost = String.raw`10 € each`;'), {
    message: 'only ASCII characters are allowed in String.raw, not raw`10 €',
  });
  t.equal(inAscii('String.raw`10 EUR`'), 'String.raw`10 EUR`');
});
