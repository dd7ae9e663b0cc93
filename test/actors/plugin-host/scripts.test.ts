import t from 'tap';
import { importId } from '../../../actors/plugin-host/script-environment.ts';
import { splitMessages } from '../../../actors/plugin-host/scripts.ts';

t.test('ids of imports go on from those of earlier versions: none is given a second time', async (t) => {
  t.equal(importId(Date.UTC(2022, 6, 1), 0), '00');
  t.equal(importId(Date.UTC(2026, 0, 1, 12, 30, 15, 999), 65_535), '1tvc2f1ekf');
});

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
