// What every ResumableUploads does.

import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { newUploadId, type UserId } from '../../engine/model/ids.ts';
import type { ResumableUploads, UploadClaim } from '../../engine/ports/resumable-uploads.ts';
import { newUser } from '../support/dataset-samples.ts';

export interface ResumableSetup {
  readonly uploads: ResumableUploads;
  /** The same rows, seen by another process that lives. */
  readonly other: ResumableUploads;
  /** The first process is dead from now on. */
  readonly die: () => Promise<void>;
  /** What counts against the owner's quota. */
  readonly usage: (owner: UserId) => Promise<number>;
}

const BOUNDS = { bytes: 1_000, uploads: 3 };
const NOW = Date.UTC(2026, 0, 1);
const LATER = NOW + 1_000;

export function resumableUploadsConformance(t: Test, setup: (t: Test) => Promise<ResumableSetup>): void {
  const signal = new AbortController().signal;
  const newId = () => newUploadId((bytes) => bytes.map(() => randomBytes(1)[0] ?? 0));
  const upload = (owner: UserId, length: number, id = newId()) => ({
    ...{ id, owner, length, fileName: 'größe.txt', metadata: 'filename Z3LDtsOfZS50eHQ=', expiresMs: LATER },
  });

  const open = async (t: Test) => {
    const world = await setup(t);
    const { uploads } = world;
    const owner = newUser();
    const create = (length: number, of = owner) => uploads.create(upload(of, length), BOUNDS, signal);
    const created = async (length = 100) => {
      const made = upload(owner, length);
      t.equal(await uploads.create(made, BOUNDS, signal), 'created');
      return made;
    };
    const claimed = async (made: { readonly id: UploadClaim['upload']['id'] }, by = uploads): Promise<UploadClaim> => {
      const claim = await by.claim(made.id, owner, NOW, signal);
      if (claim === undefined || claim === 'held') throw new Error(`no claim: ${claim}`);
      return claim;
    };
    return { ...world, owner, create, created, claimed };
  };

  const fact = (what: string, check: (t: Test, world: Awaited<ReturnType<typeof open>>) => Promise<void>): void => {
    t.test(what, async (t) => check(t, await open(t)));
  };

  fact('a new upload is shown to its owner only, and counts with its whole length', async (t, world) => {
    const made = await world.created(600);
    const shown = { ...made, offset: 0, place: undefined };
    t.strictSame(await world.uploads.find(made.id, world.owner, signal), shown);
    t.strictSame(await world.uploads.list(world.owner, signal), [shown]);
    const stranger = newUser();
    t.equal(await world.uploads.find(made.id, stranger, signal), undefined);
    t.equal(await world.uploads.claim(made.id, stranger, NOW, signal), undefined);
    t.strictSame(await world.uploads.list(stranger, signal), []);
    t.equal(await world.usage(world.owner), 600);
  });

  fact('refuses what the quota or the number of uploads does not allow, exactly at the limit', async (t, world) => {
    t.equal(await world.create(600), 'created');
    t.equal(await world.create(401), 'over quota');
    t.equal(await world.create(400), 'created');
    t.equal(await world.create(1), 'over quota');
    t.equal(await world.create(0), 'created');
    t.equal(await world.create(0), 'too many uploads');
    t.equal(await world.create(1_000, newUser()), 'created', 'another owner has bounds of their own');
    t.equal(await world.usage(world.owner), 1_000);
  });

  fact('uploads that are created at once cannot pass the quota together', async (t, world) => {
    const bounds = { ...BOUNDS, uploads: 100 };
    const all = Array.from({ length: 8 }, () => world.uploads.create(upload(world.owner, 300), bounds, signal));
    t.equal((await Promise.all(all)).filter((result) => result === 'created').length, 3);
    t.equal(await world.usage(world.owner), 900);
  });

  fact('one claim at a time holds an upload, over processes, and learns that it is wanted', async (t, world) => {
    const made = await world.created();
    const claim = await world.claimed(made);
    t.equal(await world.uploads.check(claim, signal), 'ours');
    t.equal(await world.uploads.claim(made.id, world.owner, NOW, signal), 'held');
    t.equal(await world.uploads.check(claim, signal), 'wanted');
    t.equal(await world.other.claim(made.id, world.owner, NOW, signal), 'held');
    t.equal(await world.uploads.advance(claim, { offset: 10, place: 'p', expiresMs: LATER }, signal), 'wanted');
    await world.uploads.release(claim, signal);
    const next = await world.claimed(made, world.other);
    t.strictSame(next.upload, { ...made, offset: 10, place: 'p' });
    t.equal(await world.other.check(next, signal), 'ours', 'nobody waits any more');
    t.equal(await world.uploads.check(claim, signal), 'lost');
  });

  fact('of many claims at once one gets it', async (t, world) => {
    const made = await world.created();
    const all = Array.from({ length: 8 }, (_, i) =>
      (i % 2 === 0 ? world.uploads : world.other).claim(made.id, world.owner, NOW, signal),
    );
    t.equal((await Promise.all(all)).filter((result) => result !== 'held' && result !== undefined).length, 1);
  });

  fact('the claim of a dead process is free at once, and that process records nothing more', async (t, world) => {
    const made = await world.created();
    const claim = await world.claimed(made);
    await world.die();
    const next = await world.claimed(made, world.other);
    t.ok(next.turn > claim.turn);
    t.equal(await world.uploads.advance(claim, { offset: 50, place: undefined, expiresMs: LATER }, signal), 'lost');
    t.equal(await world.uploads.giveUp(claim, signal), 'lost');
    await world.uploads.release(claim, signal);
    t.equal(await world.other.check(next, signal), 'ours');
    t.equal((await world.other.find(made.id, world.owner, signal))?.offset, 0);
  });

  fact('an upload expires, unless somebody holds it or it was continued', async (t, world) => {
    const [idle, held, continued] = [await world.created(), await world.created(), await world.created()];
    await world.claimed(held);
    const claim = await world.claimed(continued);
    await world.uploads.advance(claim, { offset: 1, place: undefined, expiresMs: LATER + 1 }, signal);
    await world.uploads.release(claim, signal);
    t.strictSame(ours([idle, held, continued], await world.uploads.leftovers(LATER - 1, signal)), []);
    t.equal(await world.uploads.claim(idle.id, world.owner, LATER, signal), undefined, 'it has expired');
    t.ok(await world.uploads.find(idle.id, world.owner, signal), 'and was not swept yet');
    t.strictSame(ours([idle, held, continued], await world.uploads.leftovers(LATER, signal)), [idle.id]);
    t.strictSame(ours([idle], await world.uploads.leftovers(LATER, signal)), [idle.id], 'until it is forgotten');
    t.equal(await world.uploads.find(idle.id, world.owner, signal), undefined);
    t.equal(await world.usage(world.owner), 300, 'its bytes are still there');
    await world.uploads.forget(idle.id, signal);
    await world.uploads.forget(idle.id, signal);
    t.equal(await world.usage(world.owner), 200);
    t.strictSame(ours([idle], await world.uploads.leftovers(LATER, signal)), []);
  });

  fact('one that was given up is gone for everybody, and counts until it is forgotten', async (t, world) => {
    const made = await world.created();
    t.equal(await world.uploads.giveUp(await world.claimed(made), signal), 'ours');
    t.equal(await world.uploads.find(made.id, world.owner, signal), undefined);
    t.equal(await world.other.claim(made.id, world.owner, NOW, signal), undefined);
    t.equal(await world.usage(world.owner), 100);
    t.strictSame(ours([made], await world.uploads.leftovers(NOW, signal)), [made.id]);
    await world.uploads.forget(made.id, signal);
    t.equal(await world.usage(world.owner), 0);
  });

  fact('an open upload cannot be forgotten', async (t, world) => {
    const made = await world.created();
    await world.uploads.forget(made.id, signal);
    t.ok(await world.uploads.find(made.id, world.owner, signal));
  });
}

function ours(made: readonly { readonly id: string }[], listed: readonly string[]): readonly string[] {
  return made.map(({ id }) => id).filter((id) => listed.includes(id));
}
