import t from 'tap';
import type { UserId } from '../../../../engine/model/ids.ts';
import type { Profile } from '../../../../engine/ports/accounts.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import type { Caller } from '../../../../http/kernel/auth/caller.ts';
import { profileMemory } from '../../../../http/kernel/auth/profile-memory.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const caller = (id: string, firstName: string): Extract<Caller, { readonly kind: 'user' | 'guest' }> => {
  const userId = id as UserId;
  return { kind: 'user', userId, profile: { userId, firstName, lastName: '', email: '', affiliation: '' } };
};

function setup() {
  const written: string[] = [];
  const state = { answer: async (): Promise<void> => undefined };
  const clock = new VirtualClock();
  const accounts = {
    remember: async (profile: Profile) => {
      written.push(`${profile.userId} ${profile.firstName}`);
      await state.answer();
    },
  };
  return { written, state, clock, remember: profileMemory(accounts, clock, silentLogger()) };
}

t.test('a profile is written once until it changes', async (t) => {
  const { remember, written } = setup();
  for (const name of ['Ada', 'Ada', 'Ada B', 'Ada B']) await remember(caller('1', name));
  t.same(written, ['1 Ada', '1 Ada B']);
});

t.test('a token that says nothing of the person writes nothing', async (t) => {
  const { remember, written } = setup();
  await remember(caller('1', ''));
  await remember({ kind: 'admin' });
  t.same(written, []);
});

t.test('a guest does not take the place of the user with the same number', async (t) => {
  const { remember, written } = setup();
  const user = caller('1', 'Ada');
  await remember(user);
  await remember({ ...user, kind: 'guest', profile: { ...user.profile, firstName: 'Somebody' } });
  t.same(written, ['1 Ada']);
});

t.test('accounts that fail or hang delay one request, and fail none', async (t) => {
  const { remember, written, state, clock } = setup();
  state.answer = () => new Promise(() => undefined);
  const waiting = remember(caller('1', 'Ada'));
  await clock.advance(2_000);
  await waiting;
  await remember(caller('2', 'Bob'));
  t.same(written, ['1 Ada'], 'left alone for a while');
  state.answer = async () => undefined;
  await clock.advance(10_000);
  await remember(caller('1', 'Ada'));
  t.same(written, ['1 Ada', '1 Ada']);
});

t.test('what is remembered has a bound', async (t) => {
  const { remember, written } = setup();
  for (let i = 1; i <= 10_001; i++) await remember(caller(String(i), 'x'));
  await remember(caller('10001', 'x'));
  t.equal(written.length, 10_001);
  await remember(caller('1', 'x'));
  t.equal(written.length, 10_002, 'the oldest was forgotten, and is written again');
});
