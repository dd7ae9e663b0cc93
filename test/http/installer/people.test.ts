import t from 'tap';
import type { UserId } from '../../../engine/model/ids.ts';
import type { Profile } from '../../../engine/ports/access-people.ts';
import { findProfiles } from '../../../http/installer/people.ts';
import { FakeAccounts } from '../../fakes/fake-accounts.ts';

const signal = new AbortController().signal;
const person = (userId: string): Profile => ({
  ...{ userId: userId as UserId, firstName: `F${userId}`, lastName: 'L', email: 'e@x.org', affiliation: '' },
});

t.test('who was found a moment ago is not asked for again, and only who was asked for is handed on', async (t) => {
  const accounts = new FakeAccounts();
  for (const id of ['1', '2', '3']) await accounts.remember(person(id), signal);
  const asked: (readonly string[])[] = [];
  const watched = {
    find: (ids: readonly UserId[]) => {
      asked.push(ids);
      return accounts.find(ids, signal);
    },
  };
  const first = await findProfiles(watched, ['1', '2', '2'] as UserId[], signal);
  t.strictSame([...first.keys()], ['1', '2']);
  const second = await findProfiles(watched, ['2', '3', '4'] as UserId[], signal, first);
  t.strictSame([...second.values()], [person('2'), person('3')]);
  const third = await findProfiles(watched, ['3'] as UserId[], signal, second);
  t.strictSame([...third.values()], [person('3')]);
  t.strictSame(asked, [
    ['1', '2'],
    ['3', '4'],
  ]);
});
