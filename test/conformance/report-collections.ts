// What every ReportCollections does.

import type { Test } from 'tap';
import type { QueryJobId } from '../../engine/model/report/query-job.ts';
import type { Collector } from '../../engine/model/report/report-job.ts';
import {
  all,
  at,
  type CollectingProcess,
  claim,
  complete,
  end,
  guestOf,
  idOf,
  QUERY,
  queryOf,
  type ReportWorld,
  requestOf,
  rulesAt,
  signal,
  submit,
  userOf,
} from './report-world.ts';

type CollectionsWorld = ReportWorld<CollectingProcess>;

const ADA = userOf('9223372036854775807');
const BOB = userOf(2);
const OTHER_QUERY = queryOf(0xbeef);

export function reportCollectionsConformance(t: Test, setup: (t: Test) => Promise<CollectionsWorld>): void {
  const link = ({ first }: CollectionsWorld, user: Collector, n: number, meta = {}, queryId = QUERY) =>
    first.jobs.submit(requestOf(n, queryId), { user, meta }, rulesAt(0), signal);
  const idsOf = async ({ second }: CollectionsWorld, user: Collector, queryId?: QueryJobId) =>
    (await all(second.collections.list(user, { queryId }, signal))).map(({ id }) => Number.parseInt(id, 16));

  t.test('a user sees the own jobs, the newest first, in whatever state they are', async (t) => {
    const world = await setup(t);
    await link(world, ADA, 3);
    await link(world, BOB, 2, { description: 'of Bob' });
    await link(world, ADA, 2);
    await link(world, ADA, 1, { summary: 'one' }, OTHER_QUERY);
    const [one] = await claim(world.first, 0);
    if (one) await end(world.first, one, complete(0), 0);
    t.strictSame(await all(world.second.collections.list(ADA, {}, signal)), [
      { id: idOf(1), queryId: OTHER_QUERY, status: 'complete', meta: { summary: 'one' } },
      { id: idOf(2), queryId: QUERY, status: 'in-progress', meta: {} },
      { id: idOf(3), queryId: QUERY, status: 'in-progress', meta: {} },
    ]);
    t.strictSame(await all(world.second.collections.list(BOB, {}, signal)), [
      { id: idOf(2), queryId: QUERY, status: 'in-progress', meta: { description: 'of Bob' } },
    ]);
    t.strictSame(await idsOf(world, userOf(3)), []);
  });

  t.test('the list of one query leaves the others out', async (t) => {
    const world = await setup(t);
    await link(world, ADA, 1);
    await link(world, ADA, 2, {}, OTHER_QUERY);
    await link(world, ADA, 3);
    t.strictSame(await idsOf(world, ADA, QUERY), [3, 1]);
    t.strictSame(await idsOf(world, ADA, OTHER_QUERY), [2]);
    t.strictSame(await idsOf(world, ADA, queryOf(0xdead)), []);
    t.strictSame(await idsOf(world, BOB, QUERY), []);
  });

  t.test('a long list is whole and in order', async (t) => {
    const world = await setup(t);
    const numbers = Array.from({ length: 501 }, (_, n) => n + 1);
    const rules = rulesAt(0, { maxQueued: 10_000, maxQueuedPerTenant: 10_000 });
    for (const n of numbers) await world.first.jobs.submit(requestOf(n), { user: ADA, meta: {} }, rules, signal);
    t.strictSame(await idsOf(world, ADA), numbers.toReversed());
    t.strictSame(await idsOf(world, ADA, QUERY), numbers.toReversed());
  });

  t.test(
    'jobs that are submitted at once are each in the collection once, one that is refused is in none',
    async (t) => {
      const world = await setup(t);
      const { first, second } = world;
      const rules = rulesAt(0, { maxQueued: 3 });
      const answers = await Promise.all(
        [1, 2, 3, 4, 5, 1, 2, 3].map((n) =>
          (n % 2 ? first : second).jobs.submit(requestOf(n), { user: ADA, meta: {} }, rules, signal),
        ),
      );
      const { queued = [] } = Object.groupBy(answers.keys(), (i) => answers[i] ?? 'full');
      t.strictSame((await idsOf(world, ADA)).toSorted(), queued.map((i) => 1 + (i % 5)).toSorted());
    },
  );

  t.test('a reader who saves has the job in the collection from then on', async (t) => {
    const { first, second } = await setup(t);
    await submit(first, 1);
    const read = (user: Collector, save: boolean) => second.jobs.read(idOf(1), { user, save }, at(1), signal);
    t.equal((await read(BOB, false))?.meta, undefined);
    t.strictSame(await all(first.collections.list(BOB, {}, signal)), []);
    const saved = await Promise.all([read(BOB, true), read(BOB, true)]);
    t.strictSame(
      saved.map((one) => one?.meta),
      [{}, {}],
    );
    t.strictSame(await all(first.collections.list(BOB, {}, signal)), [
      { id: idOf(1), queryId: QUERY, status: 'queued', meta: {} },
    ]);
    await first.collections.annotate(BOB, idOf(1), { summary: 's', description: 'd' }, signal);
    for (const save of [true, false]) t.strictSame((await read(BOB, save))?.meta, { summary: 's', description: 'd' });
    t.equal((await read(ADA, false))?.meta, undefined, "another one's notes are nobody else's");
    t.equal(await first.jobs.read(idOf(2), { user: ADA, save: true }, at(1), signal), undefined);
  });

  t.test('a job that is submitted again keeps its place, and changes only in what is given', async (t) => {
    const world = await setup(t);
    const meta = async () => (await all(world.first.collections.list(ADA, {}, signal))).map((one) => one.meta);
    await link(world, ADA, 1, { summary: 'first', description: 'long' });
    await link(world, ADA, 2);
    await link(world, ADA, 1, { summary: 'second' });
    t.strictSame(await meta(), [{}, { summary: 'second', description: 'long' }]);
    await link(world, ADA, 1);
    t.strictSame(await meta(), [{}, { summary: 'second', description: 'long' }]);
    await link(world, ADA, 1, { description: '' });
    t.strictSame(await meta(), [{}, { summary: 'second', description: '' }]);
  });

  t.test('notes are changed, and cleared with null', async (t) => {
    const world = await setup(t);
    const annotate = (user: Collector, n: number, change: object) =>
      world.second.collections.annotate(user, idOf(n), change, signal);
    const meta = async () => (await world.first.jobs.read(idOf(1), { user: ADA, save: false }, at(0), signal))?.meta;
    await link(world, ADA, 1, { summary: 's', description: 'd' });
    t.equal(await annotate(ADA, 1, {}), true);
    t.strictSame(await meta(), { summary: 's', description: 'd' });
    t.equal(await annotate(ADA, 1, { summary: 'ß'.repeat(512) }), true);
    t.strictSame(await meta(), { summary: 'ß'.repeat(512), description: 'd' });
    t.equal(await annotate(ADA, 1, { summary: null }), true);
    t.strictSame(await meta(), { description: 'd' });
    t.equal(await annotate(ADA, 1, { summary: 'x', description: null }), true);
    t.strictSame(await meta(), { summary: 'x' });
    for (const change of [{}, { summary: 'no' }]) {
      t.equal(await annotate(BOB, 1, change), false);
      t.equal(await annotate(ADA, 2, change), false);
    }
    t.strictSame(await meta(), { summary: 'x' });
  });

  t.test('the collection of a guest is not that of the user of the same number', async (t) => {
    const world = await setup(t);
    const guest = guestOf(BOB.id);
    await link(world, BOB, 1, { summary: 'of Bob' });
    await link(world, guest, 1, { summary: 'of the guest' });
    await link(world, guest, 2);
    t.strictSame(await idsOf(world, BOB), [1]);
    t.strictSame(await idsOf(world, guest, QUERY), [2, 1]);
    t.equal(await world.first.collections.annotate(BOB, idOf(2), { summary: 'x' }, signal), false);
    t.equal(await world.first.collections.remove(BOB, idOf(2), signal), false);
    t.equal(await world.first.collections.remove(BOB, idOf(1), signal), true);
    t.strictSame(await idsOf(world, BOB), []);
    t.match(await all(world.second.collections.list(guest, {}, signal)), [{}, { meta: { summary: 'of the guest' } }]);
    t.strictSame((await world.first.jobs.read(idOf(1), { user: BOB, save: true }, at(0), signal))?.meta, {});
    t.strictSame(await idsOf(world, BOB), [1]);
    t.strictSame(await idsOf(world, guest), [2, 1]);
  });

  t.test('a collection that is handed over is whole, and nothing of the new owner is lost', async (t) => {
    const world = await setup(t);
    const guest = guestOf(BOB.id);
    await link(world, BOB, 1, { summary: 'mine' });
    await link(world, BOB, 2);
    await link(world, guest, 1, { summary: 'of the guest', description: 'long' });
    await link(world, guest, 4, { summary: 'four' });
    await link(world, guest, 3);
    await link(world, userOf(3), 4, { summary: 'of another' });
    await Promise.all([
      world.first.collections.handOver(guest, BOB, signal),
      world.second.collections.handOver(guest, BOB, signal),
      world.second.jobs.read(idOf(4), { user: BOB, save: true }, at(0), signal),
    ]);
    t.strictSame(await idsOf(world, guest), []);
    t.strictSame((await idsOf(world, BOB)).toSorted(), [1, 2, 3, 4]);
    const metaOf = async (n: number) =>
      (await world.first.jobs.read(idOf(n), { user: BOB, save: false }, at(0), signal))?.meta;
    t.strictSame(await metaOf(1), { summary: 'mine', description: 'long' });
    t.strictSame(await metaOf(4), { summary: 'four' });
    t.match(await all(world.first.collections.list(userOf(3), {}, signal)), [{ meta: { summary: 'of another' } }]);
  });

  t.test('a job that is taken out of a collection stays for everybody else', async (t) => {
    const world = await setup(t);
    await link(world, ADA, 1, { summary: 'mine' });
    await link(world, BOB, 1);
    const remove = (user: Collector) => world.second.collections.remove(user, idOf(1), signal);
    t.equal(await remove(ADA), true);
    t.equal(await remove(ADA), false);
    t.strictSame(await idsOf(world, ADA), []);
    t.strictSame(await idsOf(world, BOB), [1]);
    t.match(await world.first.jobs.read(idOf(1), { user: ADA, save: true }, at(0), signal), {
      job: { status: 'queued' },
      meta: {},
    });
  });
}
