// What every Accounts does.

import type { Test } from 'tap';
import type { Accounts, Profile } from '../../engine/ports/access-people.ts';
import { newUser } from '../support/dataset-samples.ts';

export function accountsConformance(t: Test, setup: (t: Test) => Promise<Accounts>): void {
  const signal = new AbortController().signal;
  const profileOf = (more: Partial<Profile> = {}): Profile => ({
    userId: newUser(),
    firstName: 'Zoë',
    lastName: "O'Neil",
    email: 'zoe@example.org',
    affiliation: '',
    ...more,
  });

  t.test('finds the known profiles among the ids, and none is no failure', async (t) => {
    const accounts = await setup(t);
    const [one, two] = [profileOf(), profileOf({ firstName: 'Bo' })];
    await accounts.remember(one, signal);
    await accounts.remember(two, signal);
    const found = await accounts.find([newUser(), two.userId, one.userId, one.userId], signal);
    t.strictSame(
      [...found].sort(byKey),
      [
        [one.userId, one],
        [two.userId, two],
      ].sort(byKey),
    );
    t.same([...(await accounts.find([], signal))], []);
  });

  t.test('the last claims of a user count', async (t) => {
    const accounts = await setup(t);
    const profile = profileOf();
    await accounts.remember(profile, signal);
    const moved = { ...profile, affiliation: 'Elsewhere' };
    await accounts.remember(moved, signal);
    await accounts.remember(moved, signal);
    t.strictSame([...(await accounts.find([profile.userId], signal))], [[profile.userId, moved]]);
  });

  t.test('two sign-ins of a new user at once are both fine', async (t) => {
    const accounts = await setup(t);
    const profile = profileOf();
    await Promise.all([accounts.remember(profile, signal), accounts.remember(profile, signal)]);
    t.strictSame([...(await accounts.find([profile.userId], signal))], [[profile.userId, profile]]);
  });

  t.test('refuses more than 1,000 ids at once', async (t) => {
    const accounts = await setup(t);
    const ids = Array.from({ length: 1_001 }, newUser);
    t.equal((await accounts.find(ids.slice(1), signal)).size, 0);
    await t.rejects(accounts.find(ids, signal), {
      kind: 'defect',
      message: '1001 profiles requested at once; at most 1000',
    });
  });
}

const byKey = ([a]: unknown[], [b]: unknown[]): number => (String(a) < String(b) ? -1 : 1);
