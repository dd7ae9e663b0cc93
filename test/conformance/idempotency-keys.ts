// What every IdempotencyKeys does.

import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import type { IdempotencyKeys, KeyClaim, KeyedAnswer } from '../../engine/ports/idempotency-keys.ts';

const NOW = Date.UTC(2026, 0, 1);
const BOUNDS = { nowMs: NOW, untilMs: NOW + 1_000, most: 3 };
const KEPT = { fingerprint: 'f1', answer: { code: 202, body: '{"datasetId":"a"}', path: '/datasets/ä' } };

export function idempotencyKeysConformance(t: Test, setup: (t: Test) => Promise<IdempotencyKeys>): void {
  const signal = new AbortController().signal;
  const open = async (t: Test) => {
    const keys = await setup(t);
    const caller = `user:${randomUUID()}`;
    const claimOf = (more: Partial<KeyClaim> = {}): KeyClaim => ({
      ...{ caller, operation: 'create', key: 'k', holder: randomUUID() },
      ...more,
    });
    const claim = (of: KeyClaim, bounds = BOUNDS) => keys.claim(of, bounds, signal);
    const keyed = (of: KeyClaim, expiresMs = NOW + 9_000): KeyedAnswer => ({ claim: of, ...KEPT, expiresMs });
    const claimed = async (more: Partial<KeyClaim> = {}): Promise<KeyClaim> => {
      const made = claimOf(more);
      t.strictSame(await claim(made), { kind: 'claimed' });
      return made;
    };
    return { keys, claimOf, claim, claimed, keyed };
  };
  const fact = (what: string, check: (t: Test, world: Awaited<ReturnType<typeof open>>) => Promise<void>): void => {
    t.test(what, async (t) => check(t, await open(t)));
  };

  fact('a claimed key is under way for everybody else, and answers once it is answered', async (t, world) => {
    const first = await world.claimed();
    t.strictSame(await world.claim(world.claimOf()), { kind: 'under way' });
    t.equal(await world.keys.answer(world.keyed(first), signal), true);
    t.strictSame(await world.claim(world.claimOf()), { kind: 'answered', ...KEPT });
    t.strictSame(await world.claim(world.claimOf(), { ...BOUNDS, most: 0 }), { kind: 'answered', ...KEPT });
  });

  fact('of many claims at once one gets the key', async (t, world) => {
    const all = await Promise.all(Array.from({ length: 20 }, () => world.claim(world.claimOf())));
    t.equal(all.filter(({ kind }) => kind === 'claimed').length, 1);
    t.equal(all.filter(({ kind }) => kind === 'under way').length, 19);
  });

  fact('a key is one of its caller and operation', async (t, world) => {
    const first = await world.claimed();
    await world.claimed({ operation: 'revise' });
    await world.claimed({ caller: `user:${randomUUID()}` });
    await world.claimed({ key: 'K' });
    t.equal(await world.keys.answer(world.keyed(first), signal), true);
    t.strictSame(await world.claim(world.claimOf({ operation: 'revise' })), { kind: 'under way' });
  });

  fact('a claim that is not renewed is lost, exactly at its end, and can do nothing any more', async (t, world) => {
    const first = await world.claimed();
    const late = { ...BOUNDS, nowMs: BOUNDS.untilMs, untilMs: BOUNDS.untilMs + 1_000 };
    t.strictSame(await world.claim(world.claimOf(), { ...late, nowMs: late.nowMs - 1 }), { kind: 'under way' });
    const second = world.claimOf();
    t.strictSame(await world.claim(second, late), { kind: 'claimed' });
    t.equal(await world.keys.renew(first, late.untilMs, signal), false);
    t.equal(await world.keys.answer(world.keyed(first), signal), false);
    await world.keys.release(first, signal);
    t.equal(await world.keys.answer(world.keyed(second), signal), true);
  });

  fact('a renewed claim holds longer', async (t, world) => {
    const first = await world.claimed();
    t.equal(await world.keys.renew(first, NOW + 5_000, signal), true);
    t.strictSame(await world.claim(world.claimOf(), { ...BOUNDS, nowMs: NOW + 4_999 }), { kind: 'under way' });
  });

  fact('a released key is free, an answered one stays', async (t, world) => {
    const first = await world.claimed();
    await world.keys.release(first, signal);
    t.equal(await world.keys.answer(world.keyed(first), signal), false, 'it holds nothing any more');
    const second = await world.claimed();
    await world.keys.answer(world.keyed(second), signal);
    await world.keys.release(second, signal);
    t.equal(await world.keys.renew(second, NOW + 5_000, signal), false);
    t.equal(await world.keys.answer(world.keyed(second), signal), false, 'it has been answered');
    t.strictSame(await world.claim(world.claimOf()), { kind: 'answered', ...KEPT });
  });

  fact('an answer expires, exactly at its end; the next claim is a new one', async (t, world) => {
    const first = await world.claimed();
    await world.keys.answer(world.keyed(first, NOW + 9_000), signal);
    const [before, after] = [NOW + 8_999, NOW + 9_000].map((nowMs) => ({ ...BOUNDS, nowMs, untilMs: nowMs + 1_000 }));
    t.strictSame(await world.claim(world.claimOf(), before), { kind: 'answered', ...KEPT });
    t.strictSame(await world.claim(world.claimOf(), after), { kind: 'claimed' });
    t.strictSame(await world.claim(world.claimOf(), after), { kind: 'under way' });
  });

  fact('a caller has a bounded number of keys that have not expired', async (t, world) => {
    for (const key of ['1', '2', '3']) await world.claimed({ key });
    t.strictSame(await world.claim(world.claimOf()), { kind: 'too many' });
    t.strictSame(await world.claim(world.claimOf({ key: '2' })), { kind: 'under way' });
    await world.claimed({ caller: `user:${randomUUID()}` });
    t.strictSame(
      await world.claim(world.claimOf(), { ...BOUNDS, nowMs: BOUNDS.untilMs, untilMs: BOUNDS.untilMs + 1 }),
      { kind: 'claimed' },
    );
  });

  fact('what has expired is dropped, and nothing else', async (t, world) => {
    const kept = await world.claimed({ key: 'kept' });
    await world.keys.answer(world.keyed(kept, NOW + 2_000), signal);
    const lost = await world.claimed();
    t.ok((await world.keys.dropExpired(NOW + 1_000, signal)) >= 1);
    t.equal(await world.keys.renew(lost, NOW + 5_000, signal), false);
    t.strictSame(await world.claim(world.claimOf({ key: 'kept' })), { kind: 'answered', ...KEPT });
    t.ok((await world.keys.dropExpired(NOW + 2_000, signal)) >= 1);
    await world.claimed({ key: 'kept' });
  });
}
