import t, { type Test } from 'tap';
import type { ReconcilerOrder } from '../../../actors/reconciler/reconciler.ts';
import { nextPart, passAfter, type SlimPace, wholeStore } from '../../../actors/reconciler/slim-part.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { SlimPass } from '../../../engine/ports/slim-passes.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { addressOf } from '../../support/merged-datasets.ts';
import { ReconciledSite } from '../../support/reconciled-site.ts';

const never = new AbortController().signal;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The default intervals. */
const PACE: SlimPace = { fullRunIntervalMs: 6 * HOUR_MS, slimRunIntervalMs: 5 * MINUTE_MS };
const BEGUN = new Date(Date.UTC(2026, 0, 1));
const atMinute = (minute: number): number => BEGUN.getTime() + minute * MINUTE_MS;
const passOf = (more: Partial<SlimPass> = {}): SlimPass => ({
  ...{ after: undefined, begunAt: BEGUN, compared: 0, expected: 1_000_000 },
  ...more,
});

t.test('a million datasets are shared evenly by the runs of half a fullRunInterval', async (t) => {
  const limits: number[] = [];
  let pass = passOf();
  for (let minute = 5; ; minute += 5) {
    const part = nextPart(pass, PACE, atMinute(minute));
    const last = part.limit === Number.POSITIVE_INFINITY;
    const compared = last ? 1_000_000 - pass.compared : part.limit;
    limits.push(compared);
    pass = passAfter(part, compared, last ? undefined : addressOf(1, `d${minute}`), atMinute(minute));
    if (!last) continue;
    t.strictSame(pass, { after: undefined, begunAt: new Date(atMinute(175)), compared: 0, expected: 1_000_000 });
    break;
  }
  t.equal(limits.length, 35);
  t.strictSame([Math.max(...limits), Math.min(...limits)], [28_572, 28_571]);
});

t.test('a part follows the number of datasets, but is never small', async (t) => {
  const limitOf = (expected: number, compared = 0) => nextPart(passOf({ expected, compared }), PACE, atMinute(0)).limit;
  t.strictSame(
    [0, 10_000, 360_000].map((count) => limitOf(count)),
    [10_000, 10_000, 10_000],
  );
  t.strictSame(
    [360_001, 3_600_000].map((count) => limitOf(count)),
    [10_001, 100_000],
  );
  t.equal(limitOf(1_000_000, 640_000), 10_000);
  t.equal(limitOf(1_000_000, 1_100_000), 10_000, 'the store has grown');
  t.equal(nextPart(passOf(), { ...PACE, least: 50_000 }, atMinute(0)).limit, 50_000);
});

t.test('the last run that is certain to begin in time compares the rest', async (t) => {
  const limitAt = (minute: number) => nextPart(passOf(), PACE, atMinute(minute)).limit;
  t.strictSame([169, 170].map(limitAt), [500_000, 500_000]);
  t.strictSame([170.1, 175, 180, 5_000].map(limitAt), Array(4).fill(Number.POSITIVE_INFINITY));
  const rare: SlimPace = { fullRunIntervalMs: HOUR_MS, slimRunIntervalMs: 20 * MINUTE_MS };
  t.equal(nextPart(passOf(), rare, atMinute(0)).limit, Number.POSITIVE_INFINITY);
});

t.test('everything is compared when nothing is known of the pass, or its time lies in the future', async (t) => {
  t.strictSame(nextPart(undefined, PACE, atMinute(7)), wholeStore(atMinute(7)));
  t.strictSame(nextPart(passOf({ after: addressOf(1, 'a') }), PACE, atMinute(-1)), wholeStore(atMinute(-1)));
});

/** Fifteen datasets of several owners in sync, and slim runs that compare two of them each. */
async function setup(t: Test) {
  const site = new ReconciledSite();
  for (const [owner, a, b] of [
    [1, 'a', 'b'],
    [10, 'c', 'd'],
    [2, 'e', 'f'],
  ] as const)
    for (const id of [a, `${a}-b`, `${a}0`, `${a}_1`, b]) await site.add(owner, id, ['cache']);
  const listings: (string | undefined)[] = [];
  const pages = site.store.pages.bind(site.store);
  site.store.pages = (prefix, options, signal) => {
    listings.push(options.after);
    return pages(prefix, options, signal);
  };
  const pace = { ...PACE, least: 2 };
  const slim = (more: Partial<ReconcilerOrder> = {}) => site.run({ kind: 'slim', pace, ...more });
  /** The first run compares everything, since nothing is known yet. */
  t.match(await slim(), { listed: 15, reconciled: 0 });
  /** `{owner}/{dataset}` of the last dataset compared. */
  const at = () => {
    const after = site.slimPasses.pass?.after;
    return after && `${after.owner}/${after.dataset}`;
  };
  return { site, slim, listings, at };
}

t.test('runs continue where the last one ended, and begin again at the end', async (t) => {
  const { site, slim, listings, at } = await setup(t);
  const places: unknown[] = [];
  for (let n = 0; n < 9; n++) {
    await site.clock.advance(MINUTE_MS);
    const { listed } = await slim();
    places.push([at(), listed]);
  }
  t.strictSame(places, [
    ...[
      ['1/a', 2],
      ['1/a_1', 2],
      ['10/c-b', 2],
      ['10/c0', 2],
      ['10/d', 2],
      ['2/e', 2],
      ['2/e_1', 2],
    ],
    ...[
      [undefined, 1],
      ['1/a', 2],
    ],
  ]);
  t.strictSame(listings.slice(0, 5), [undefined, undefined, '1/a0', '1/a_10', '10/c-b0']);
  t.strictSame(site.asked, [], 'nothing looks new or gone at a border');
});

t.test('a change ahead is found by this pass, a new dataset behind by the next one', async (t) => {
  const { site, slim, at } = await setup(t);
  await slim();
  await slim();
  t.equal(at(), '1/a_1');
  await site.put(addressOf(1, 'Aa'));
  await site.put(addressOf(2, 'zz'));
  while (at()) await slim();
  t.strictSame(site.asked, ['reconciliation 2/zz']);
  await slim();
  t.strictSame(site.asked.slice(1), ['reconciliation 1/Aa']);
});

t.test('where the last dataset compared is gone, the next run begins at the one after it', async (t) => {
  const { site, slim, at } = await setup(t);
  await slim();
  t.equal(at(), '1/a');
  await site.forget(addressOf(1, 'a'));
  await site.put(addressOf(1, 'a0'), ['delete-flag']);
  await slim();
  t.strictSame([at(), site.asked], ['1/a_1', ['reconciliation 1/a0']]);
});

t.test('the expected number follows the store as it grows and shrinks', async (t) => {
  const { site, slim, at } = await setup(t);
  const through = async () => {
    do await slim();
    while (at());
    return site.slimPasses.pass?.expected;
  };
  for (let n = 0; n < 20; n++) await site.add(3, `new${n}`, ['cache']);
  t.equal(await through(), 35);
  for (let n = 0; n < 20; n++) await site.forget(addressOf(3, `new${n}`));
  for (const id of ['c', 'c0', 'd']) await site.forget(addressOf(10, id));
  t.equal(await through(), 12);
  for (const { owner, dataset } of [...site.cache]) await site.forget(addressOf(owner, dataset));
  t.equal(await through(), 0);
  await site.put(addressOf(1, 'a'));
  await slim();
  t.strictSame(site.asked, ['reconciliation 1/a']);
});

t.test('a run that fails leaves the pass where it was', async (t) => {
  const { site, slim, at } = await setup(t);
  await slim();
  const before = site.slimPasses.pass;
  await site.put(addressOf(1, 'a0'), ['delete-flag']);
  const { enqueue } = site.ports.jobs;
  site.ports.jobs.enqueue = () => Promise.reject(transient('the cache is away'));
  await t.rejects(slim(), { message: 'the cache is away' });
  t.strictSame(site.slimPasses.pass, before);
  site.ports.jobs.enqueue = enqueue;
  await slim();
  t.strictSame([at(), site.asked], ['1/a_1', ['reconciliation 1/a0']]);
});

t.test('a whole run, full or slim, begins a new pass', async (t) => {
  for (const kind of ['full', 'slim'] as const) {
    const { site, slim } = await setup(t);
    await slim();
    await site.clock.advance(HOUR_MS);
    t.match(await site.run({ kind }), { kind, listed: 15 });
    const begunAt = new Date(site.clock.now());
    t.strictSame(site.slimPasses.pass, { after: undefined, begunAt, compared: 0, expected: 15 });
  }
});

t.test('an upload or import that no job continues is found wherever the pass is', async (t) => {
  const { site, slim, at } = await setup(t);
  await slim();
  const [inPart, behind, ahead] = [addressOf(1, 'a0'), addressOf(1, 'a'), addressOf(2, 'f')];
  for (const dataset of [inPart, behind, ahead]) await site.know(dataset, 'cache', { import: 'queued' });
  await site.know(addressOf(2, 'e'), 'cache', { upload: 'running', import: 'queued' });
  await site.know(addressOf(10, 'd'), 'cache', { import: 'in-progress' });
  t.match(await slim(), { listed: 6, reconciled: 5 });
  t.equal(at(), '1/a_1');
  t.strictSame(site.asked.sort(), [
    ...['reconciliation 1/a', 'reconciliation 1/a0', 'reconciliation 10/d', 'reconciliation 2/e', 'reconciliation 2/f'],
  ]);
});

t.test('what a job is about to continue, and what the store does not have, is left alone', async (t) => {
  const { site, slim } = await setup(t);
  await site.know(addressOf(2, 'f'), 'cache', { import: 'queued' });
  site.busy.add(addressOf(2, 'f').dataset);
  await site.know(addressOf(2, 'only-known'), 'cache', { upload: 'running', import: 'queued' });
  t.match(await slim(), { listed: 2, reconciled: 0 });
});

t.test('forgotten datasets are read a hundred at a time', async (t) => {
  const { site, slim } = await setup(t);
  for (let n = 0; n < 250; n++) {
    const at = addressOf(3, `import${n}`);
    await site.put(at, ['vdi-meta.json', 'import-ready.zip']);
    await site.know(at, 'cache', { import: 'queued' });
  }
  t.match(await slim(), { reconciled: 250 });
  t.equal(new Set(site.asked).size, 250);
});

t.test('a run over the whole store asks for no forgotten datasets', async (t) => {
  const { site } = await setup(t);
  site.ports.index.forgotten = () => Promise.reject(new Error('the listing finds them'));
  await site.store.put(objectKey(addressOf(1, 'a'), 'delete-flag'), Buffer.from(''), {}, never);
  t.match(await site.run({ kind: 'slim' }), { listed: 15, reconciled: 1 });
});
