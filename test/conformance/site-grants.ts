// What every SiteGrants does, as the view that sites read shows it.

import type { Test } from 'tap';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { GrantChange, SiteGrants } from '../../engine/ports/access-requests.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import { metadataOf, newAddress, newUser } from '../support/dataset-samples.ts';

export interface SiteGrantsSetup {
  /** Knows no source yet. */
  readonly grants: SiteGrants;
  readonly target: InstallTarget;
  /** Users to whom the target's site shows the dataset. */
  readonly shownTo: (dataset: DatasetId) => Promise<readonly UserId[]>;
}

const HOUR_MS = 3_600_000;

export function siteGrantsConformance(t: Test, setup: (t: Test) => Promise<SiteGrantsSetup>): void {
  const signal = new AbortController().signal;

  const open = async (t: Test) => {
    const { grants, target, shownTo } = await setup(t);
    const at = newAddress();
    const become = (visibility: 'private' | 'protected') => {
      const document = { ...at, metadata: metadataOf(at.owner, { visibility }), category: 'C', showVisibility: true };
      return target.write(at.dataset, { document }, 1, signal);
    };
    await become('protected');
    const complete = { status: 'complete' } as const;
    await target.write(at.dataset, { messages: { meta: complete, data: complete } }, 1, signal);
    const friend = newUser();
    const change = (number: number, hours?: readonly [begins: number, ends?: number]): GrantChange => {
      const later = (of: number) => new Date(Date.now() + of * HOUR_MS);
      const [begins, ends] = hours ?? [];
      return {
        ...{ number, root: at.dataset, owner: at.owner, user: friend },
        grant:
          begins === undefined ? undefined : { begins: later(begins), ends: ends === undefined ? ends : later(ends) },
      };
    };
    const seen = async () => (await shownTo(at.dataset)).includes(friend);
    return { grants, target, become, change, seen };
  };

  t.test('a dataset is shown while a grant is in force, and the dataset is not private', async (t) => {
    const { grants, become, change, seen } = await open(t);
    t.equal(await grants.known('a', signal), 0);
    for (const [number, hours, expected] of [
      [1, [-1], true],
      [2, [1], false],
      [3, [-2, -1], false],
      [4, [-2, 1], true],
      [5, undefined, false],
      [7, [-1, 1_000_000], true],
    ] as const) {
      await grants.tell('a', await grants.known('a', signal), [change(number, hours)], signal);
      t.equal(await seen(), expected, String(hours));
    }
    t.equal(await grants.known('a', signal), 7);
    await become('private');
    t.equal(await seen(), false);
  });

  t.test('who knows less than the site tells it nothing, and another source begins anew', async (t) => {
    const { grants, change, seen } = await open(t);
    await grants.known('a', signal);
    await grants.tell('a', 0, [change(3, [-1])], signal);
    await grants.tell('a', 0, [change(4)], signal);
    await grants.tell('b', 0, [change(5)], signal);
    t.same([await seen(), await grants.known('a', signal)], [true, 3]);
    t.equal(await grants.known('b', signal), 0);
    t.same([await seen(), await grants.known('a', signal)], [false, 0]);
  });

  t.test('of several processes that tell the same, one is heard', async (t) => {
    const { grants, change, seen } = await open(t);
    const numbers = await Promise.all(Array.from({ length: 4 }, () => grants.known('a', signal)));
    t.same(numbers, [0, 0, 0, 0]);
    const told = [1, 2, 3, 4].map((number) => grants.tell('a', 0, [change(number, [-1])], signal));
    await Promise.all(told);
    const heard = await grants.known('a', signal);
    t.ok(heard >= 1 && heard <= 4, String(heard));
    t.equal(await seen(), true);
  });

  t.test('many changes are one', async (t) => {
    const { grants, change, seen } = await open(t);
    await grants.known('a', signal);
    const others = Array.from({ length: 499 }, (_, at) => ({ ...change(at + 1, [-1]), user: newUser() }));
    await grants.tell('a', 0, [...others, change(500, [-1])], signal);
    t.same([await seen(), await grants.known('a', signal)], [true, 500]);
  });
}
