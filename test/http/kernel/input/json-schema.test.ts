import t from 'tap';
import { Faults } from '../../../../http/kernel/input/faults.ts';
import { checkCharacters } from '../../../../http/kernel/input/json-schema.ts';

const faultsOf = (value: unknown): unknown => {
  const faults = new Faults();
  checkCharacters(value, faults);
  return faults.errors().byKey;
};

t.test('a hidden character is named with its code and place, wherever the text stands', async (t) => {
  const sentence = (code: string, position: number, kind: string, text = 'one line of text') =>
    `holds the character ${code} at position ${position}, ${kind}; ${text} without such is required`;
  const turns = 'a character that changes the direction of text';
  t.strictSame(
    faultsOf({
      name: 'gene\u202etxt',
      summary: 'two\nlines\u2066',
      contacts: [{ firstName: 'A' }, { firstName: 'A\nB', affiliation: 'x\u0000' }],
      shared: { name: 'tab\there' },
    }),
    {
      name: [sentence('U+202E', 5, turns)],
      summary: [sentence('U+2066', 10, turns, 'text')],
      'contacts[1].firstName': [sentence('U+000A', 2, 'a line break')],
      'contacts[1].affiliation': [sentence('U+0000', 2, 'a control character', 'text')],
      'shared.name': [sentence('U+0009', 4, 'a control character')],
    },
  );
});

t.test('texts of several lines have line breaks, in a change as well', async (t) => {
  const text = 'one\r\n\ttwo\n';
  const identifiers = { dois: [{ description: text }] };
  t.strictSame(
    faultsOf({ description: text, summary: { value: text }, purpose: text, externalIdentifiers: identifiers }),
    {},
  );
});

t.test('half of a surrogate pair is no character', async (t) => {
  t.strictSame(faultsOf({ name: 'a\ud800' }), { name: ['holds half of a surrogate pair, which is no character'] });
});
