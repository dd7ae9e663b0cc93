import t from 'tap';
import { splitMessages } from '../../../actors/plugin-host/script-messages.ts';

t.test('a prefix at the start of the line chooses the list', async (t) => {
  t.same(
    splitMessages([
      'plain',
      ' basic: not at the start',
      'basic: one ',
      'community:two',
      'Basic: case counts',
      '',
      ' ',
      'basic:',
    ]),
    { basic: ['plain', 'basic: not at the start', 'one', 'Basic: case counts'], community: ['two'] },
  );
});
