// What every implementation of the leases port does.

import t, { type Test } from 'tap';
import type { Lease, Leases } from '../../engine/ports/jobs.ts';

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
    t.equal((await taken(first, 'a')).name, 'a');
    t.equal(await second.acquire('a', signal), undefined);
    t.equal((await taken(second, 'b')).name, 'b', 'names do not touch each other');
  });

  fact('the holder itself cannot acquire it twice', async (t, { first }) => {
    await taken(first, 'a');
    t.equal(await first.acquire('a', signal), undefined);
  });

  fact('of many who try at once one gets it', async (t, { first, second }) => {
    const attempts = Array.from({ length: 20 }, (_, i) => (i % 2 ? first : second).acquire('a', signal));
    t.same(
      (await Promise.all(attempts)).flatMap((lease) => (lease ? [lease.name] : [])),
      ['a'],
    );
  });

  fact('tokens only grow, by one, also after a release', async (t, { first, second }) => {
    let last = await taken(first, 'a');
    t.ok(Number.isSafeInteger(last.token) && last.token > 0);
    await first.release(last, signal);
    for (const holder of [second, second, first]) {
      const lease = await taken(holder, 'a');
      t.same(lease, leaseAfter(last));
      await holder.release(lease, signal);
      last = lease;
    }
  });

  fact('a lease expires 30 s after it was last renewed', async (t, { first, second, advance }) => {
    const lease = await taken(first, 'a');
    await advance(28_000);
    t.same(await first.renew([lease], signal), []);
    await advance(28_000);
    t.equal(await second.acquire('a', signal), undefined);
    await advance(2_000);
    t.same(await second.acquire('a', signal), leaseAfter(lease));
    t.same(await first.renew([lease], signal), [lease]);
    t.same(await second.renew([leaseAfter(lease)], signal), []);
  });

  fact('an expired lease that nobody took can be renewed', async (t, { first, second, advance }) => {
    const lease = await taken(first, 'a');
    await advance(40_000);
    t.same(await first.renew([lease], signal), []);
    t.equal(await second.acquire('a', signal), undefined);
  });

  fact('an expired lease is free for its last holder, too', async (t, { first, advance }) => {
    const lease = await taken(first, 'a');
    await advance(31_000);
    t.same(await first.acquire('a', signal), leaseAfter(lease));
  });

  fact('renewal returns what is not ours', async (t, { first, second }) => {
    const ours = await taken(first, 'a');
    const theirs = await taken(second, 'b');
    const outdated = { name: 'a', token: ours.token - 1 };
    const unknown = { name: 'c', token: 1 };
    t.same(await first.renew([ours, theirs, outdated, unknown], signal), [theirs, outdated, unknown]);
    t.same(await first.renew([], signal), []);
  });

  fact('the lease of a dead process is free at once', async (t, { first, second, killSecond }) => {
    const lease = await taken(second, 'a');
    t.equal(await first.acquire('a', signal), undefined);
    await killSecond();
    t.same(await first.acquire('a', signal), leaseAfter(lease));
  });

  fact('releasing a lease that was lost changes nothing', async (t, { first, second, advance }) => {
    const lease = await taken(first, 'a');
    await advance(31_000);
    await taken(second, 'a');
    await first.release(lease, signal);
    t.equal(await first.acquire('a', signal), undefined);
  });

  fact('nothing is done for an aborted caller', async (t, { first }) => {
    const gone = AbortSignal.abort(new Error('gone'));
    await t.rejects(first.acquire('a', gone), new Error('gone'));
    t.equal((await taken(first, 'a')).name, 'a');
  });
}

/** The lease that is given after this one. */
export const leaseAfter = ({ name, token }: Lease): Lease => ({ name, token: token + 1 });

async function taken(leases: Leases, name: string): Promise<Lease> {
  const lease = await leases.acquire(name, signal);
  if (!lease) throw new Error(`${name} should be free`);
  return lease;
}
