import { readFileSync } from 'node:fs';
import t from 'tap';
import { groupNumber } from '../../../bin/compose/plugin-host.ts';

t.test('a group is found by its name, and a number is taken as it is', async (t) => {
  const [name = '', , id] = (readFileSync('/etc/group', 'utf8').split('\n')[0] ?? '').split(':');
  t.equal(await groupNumber('some.key', name), Number(id));
  t.equal(await groupNumber('some.key', '54321'), 54_321);
});

t.test('a group that is not there is named with its key', async (t) => {
  await t.rejects(groupNumber('some.key', 'no such group'), {
    message: "some.key: there is no group 'no such group' in /etc/group; a numeric group id is also allowed",
  });
});
