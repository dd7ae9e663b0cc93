// What every implementation of the leases port does.

import t, { type Test } from 'tap';
import type { Leases } from '../../engine/ports/leases.ts';

export interface LeasesUnderTest {
  readonly first: Leases;
  /** The same leases, seen by another process. */
  readonly second: Leases;
  /** The second process ends without releasing anything. */
  killSecond(): Promise<void>;
  /** Lets time pass for the leases. */
  advance(ms: number): Promise<void>;
}

const signal = new AbortController().signal;

export function leasesConformance(name: string, open: (t: Test) => Promise<LeasesUnderTest>): void {
  const fact = (what: string, check: (t: Test, leases: LeasesUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };

  fact('a lease has one holder', async (t, { first, second }) => {
    t.same(await first.acquire('a', signal), { name: 'a', token: 1 });
    t.equal(await second.acquire('a', signal), undefined);
    t.same(await second.acquire('b', signal), { name: 'b', token: 1 }, 'names do not touch each other');
  });

  fact('the holder itself cannot acquire it twice', async (t, { first }) => {
    await first.acquire('a', signal);
    t.equal(await first.acquire('a', signal), undefined);
  });

  fact('of many who try at once one gets it', async (t, { first, second }) => {
    const tries = Array.from({ length: 20 }, (_, i) => (i % 2 ? first : second).acquire('a', signal));
    t.same(
      (await Promise.all(tries)).filter((lease) => lease !== undefined),
      [{ name: 'a', token: 1 }],
    );
  });

  fact('tokens only grow, also after a release', async (t, { first, second }) => {
    for (const [holder, token] of [
      [first, 1],
      [second, 2],
      [second, 3],
      [first, 4],
    ] as const) {
      const lease = await holder.acquire('a', signal);
      t.same(lease, { name: 'a', token });
      if (lease) await holder.release(lease, signal);
    }
  });

  fact('a lease expires 30 s after it was last renewed', async (t, { first, second, advance }) => {
    const lease = { name: 'a', token: 1 };
    await first.acquire('a', signal);
    await advance(28_000);
    t.same(await first.renew([lease], signal), []);
    await advance(28_000);
    t.equal(await second.acquire('a', signal), undefined);
    await advance(2_000);
    t.same(await second.acquire('a', signal), { name: 'a', token: 2 });
    t.same(await first.renew([lease], signal), [lease]);
    t.same(await second.renew([{ name: 'a', token: 2 }], signal), []);
  });

  fact('an expired lease that nobody took can be renewed', async (t, { first, second, advance }) => {
    await first.acquire('a', signal);
    await advance(40_000);
    t.same(await first.renew([{ name: 'a', token: 1 }], signal), []);
    t.equal(await second.acquire('a', signal), undefined);
  });

  fact('an expired lease is free for its last holder, too', async (t, { first, advance }) => {
    await first.acquire('a', signal);
    await advance(31_000);
    t.same(await first.acquire('a', signal), { name: 'a', token: 2 });
  });

  fact('renewal returns what is not ours', async (t, { first, second }) => {
    const ours = await first.acquire('a', signal);
    const theirs = await second.acquire('b', signal);
    const outdated = { name: 'a', token: 7 };
    const unknown = { name: 'c', token: 1 };
    if (!ours || !theirs) throw new Error('both should be free');
    t.same(await first.renew([ours, theirs, outdated, unknown], signal), [theirs, outdated, unknown]);
    t.same(await first.renew([], signal), []);
  });

  fact('the lease of a dead process is free at once', async (t, { first, second, killSecond }) => {
    t.same(await second.acquire('a', signal), { name: 'a', token: 1 });
    t.equal(await first.acquire('a', signal), undefined);
    await killSecond();
    t.same(await first.acquire('a', signal), { name: 'a', token: 2 });
  });

  fact('releasing a lease that was lost changes nothing', async (t, { first, second, advance }) => {
    await first.acquire('a', signal);
    await advance(31_000);
    await second.acquire('a', signal);
    await first.release({ name: 'a', token: 1 }, signal);
    t.equal(await first.acquire('a', signal), undefined);
  });

  fact('nothing is done for an aborted caller', async (t, { first }) => {
    const gone = AbortSignal.abort(new Error('gone'));
    await t.rejects(first.acquire('a', gone), new Error('gone'));
    t.same(await first.acquire('a', signal), { name: 'a', token: 1 });
  });
}
