import t from 'tap';
import { JobSource } from '../../../actors/jobs/job-source.ts';
import { DataTypes } from '../../../engine/model/data-types.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import type { ClaimedJob, ClaimRequest } from '../../../engine/ports/jobs.ts';
import { TWO_PLUGINS, twoPluginJobs } from '../../support/two-plugins.ts';

const never = new AbortController().signal;
const DONE = { kind: 'done' } as const;
const NO_PLACES = { reserve: () => false, fill: () => false };

/** A source whose claims are kept, for a lane of three workers that holds `held`, all of them running. */
function setup(blocked: readonly string[] = [], types = TWO_PLUGINS) {
  const { jobs, enqueue } = twoPluginJobs();
  const claims: ClaimRequest[] = [];
  const shares: ClaimRequest['ownerShare'][] = [];
  const held: ClaimedJob[] = [];
  const completeAndFetch = jobs.completeAndFetch.bind(jobs);
  jobs.completeAndFetch = (done, claim, signal) => {
    const { ownerShare, ...others } = claim;
    claims.push(others);
    shares.push(ownerShare);
    return completeAndFetch(done, claim, signal);
  };
  const source = new JobSource({
    lane: 'import',
    jobs,
    types,
    breakers: { blockedTypes: () => blocked, watch: () => () => undefined },
    claimant: () => ({
      ...NO_PLACES,
      held: () => held,
      sizes: { depth: 0, capacity: 4, inFlight: held.length, workers: 3, unwritten: 0 },
    }),
  });
  let wakes = 0;
  source.watch(() => wakes++);
  const claim = async (room: number, done: readonly ClaimedJob[] = []): Promise<string[]> => {
    const completions = done.map((job) => ({ job, outcome: DONE }));
    const claimed = await source.completeAndFetch(completions, room, never);
    held.splice(0, held.length, ...held.filter((job) => !done.includes(job)), ...claimed);
    return claimed.map(({ dataset }) => dataset);
  };
  return { jobs, enqueue, claim, claims, shares, held, source, wakes: () => wakes };
}

t.test('types whose plugin does not answer are not claimed', async (t) => {
  const { enqueue, claim, claims, source } = setup(['genes:1.0']);
  await enqueue('import', 'genes-1', 'reads-1');
  t.equal(source.skips(), false);
  t.same(await claim(7), ['reads-1']);
  t.equal(source.skips(), true, 'what waits is not the fault of the lane');
  t.same(claims, [{ lane: 'import', limit: 2, crowdedTypes: [], blockedTypes: ['genes:1.0'] }]);
});

t.test('a claim cut short for fairness asks to be followed by another', async (t) => {
  const { enqueue, claim, claims, wakes } = setup();
  await enqueue('import', 'genes-1', 'genes-2', 'genes-3');
  const before = wakes();
  t.same(await claim(7), ['genes-1', 'genes-2']);
  t.equal(wakes(), before + 1);
  t.same(await claim(5), ['genes-3']);
  t.same(claims[1], { lane: 'import', limit: 1, crowdedTypes: ['genes:1.0'], blockedTypes: [] });
});

t.test('a claim is as wide as the room when each owner stays within its share', async (t) => {
  const onePlugin = new DataTypes(TWO_PLUGINS.all().slice(0, 1), []);
  const { jobs, claim, claims, shares, held, wakes } = setup([], onePlugin);
  const [ada, bob, cyd] = ['1', '2', '3'] as UserId[] as [UserId, UserId, UserId];
  for (const [n, owner] of [ada, ada, bob, bob, ada, cyd, cyd, bob].entries()) {
    const dataset = `genes-${n}` as DatasetId;
    await jobs.enqueue([{ lane: 'import', dataset, owner, eventId: n, source: 'api' }], never);
  }
  const before = wakes();
  t.same(await claim(7), ['genes-0', 'genes-1', 'genes-2', 'genes-3', 'genes-5', 'genes-6']);
  t.same([claims[0]?.limit, shares[0]], [7, { most: 2, held: {} }]);
  t.equal(wakes(), before + 1, 'jobs of others may be left');
  await claim(1, held.slice(0, 1));
  t.same([claims[1]?.withheldOwners, shares[1]], [[bob, cyd], { most: 2, held: { [ada]: 1, [bob]: 2, [cyd]: 2 } }]);
  t.same(held.at(-1)?.dataset, 'genes-4');
});

t.test('once a plugin has its share, another claim is worth a call when a worker is idle', async (t) => {
  const { enqueue, claim, source } = setup();
  t.equal(source.waitsForWorker(), false);
  await enqueue('import', 'genes-1', 'genes-2', 'reads-1');
  await claim(7);
  t.equal(source.waitsForWorker(), false, 'nobody had a share before this claim');
  await claim(0);
  t.equal(source.waitsForWorker(), false, 'writing outcomes alone changes nothing');
  await claim(5);
  t.equal(source.waitsForWorker(), true);
});

t.test('jobs are held back until one has ended, and one that has ended counts no more', async (t) => {
  const { enqueue, claim, claims, held, source } = setup();
  await enqueue('import', 'genes-1', 'genes-2', 'genes-3', 'genes-4');
  await claim(7);
  await claim(5);
  t.equal(source.heldBack(), false);
  t.same(await claim(4), []);
  t.same(claims[2], { lane: 'import', limit: 2, crowdedTypes: [], blockedTypes: ['genes:1.0'] });
  t.same([source.heldBack(), source.skips()], [true, true]);
  const ended = held.slice(0, 2);
  await claim(0, ended);
  t.equal(source.heldBack(), true, 'writing outcomes alone changes nothing');
  t.same(await claim(6), ['genes-4']);
  t.same(claims[4], { lane: 'import', limit: 1, crowdedTypes: [], blockedTypes: [] });
  t.same([source.heldBack(), source.skips()], [false, false]);
});

t.test('the outcomes that a claim brings along make room in it', async (t) => {
  const { enqueue, claim, claims, held } = setup();
  await enqueue('import', 'genes-1', 'genes-2', 'genes-3');
  await claim(2);
  t.same(await claim(1, held.slice(0, 1)), ['genes-3']);
  t.same(claims[1], { lane: 'import', limit: 1, crowdedTypes: [], blockedTypes: [] });
});

t.test('a lane that calls no plugin passes over the jobs that wait for one that is away', async (t) => {
  const { jobs, enqueue } = twoPluginJobs();
  await enqueue('install', 'genes-1', 'reads-1');
  await enqueue('sharing', 'genes-1', 'reads-1');
  const source = new JobSource({
    lane: 'sharing',
    jobs,
    types: TWO_PLUGINS,
    breakers: undefined,
    away: { blockedTypes: () => ['genes:1.0'] },
    claimant: () => ({
      ...NO_PLACES,
      held: () => [],
      sizes: { depth: 0, capacity: 4, inFlight: 0, workers: 3, unwritten: 0 },
    }),
  });
  t.same(
    (await source.completeAndFetch([], 7, never)).map(({ dataset }) => dataset),
    ['genes-1'],
  );
});
