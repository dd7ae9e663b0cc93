// A lane whose bounds change while it works.

import fc from 'fast-check';
import t, { type Test } from 'tap';
import { aborted } from '../../../engine/runtime/failure.ts';
import { laneWorld } from './lane-world.ts';

/** `finish` and `add` give the lane the time to tell its source. */
async function setup(t: Test, bounds: { readonly queueSize: number; readonly workerCount: number }) {
  const world = await laneWorld(t, bounds);
  const { clock } = world;
  const finish = async (...ids: number[]): Promise<void> => {
    await world.finish(...ids);
    await clock.advance(25);
  };
  const add = async (...ids: number[]): Promise<void> => {
    await world.add(...ids);
    await clock.advance(25);
  };
  return { ...world, finish, add };
}

const sizes = (depth: number, capacity: number, inFlight: number, workers: number) => ({
  depth,
  capacity,
  inFlight,
  workers,
  unwritten: 0,
});

t.test('more workers begin what waits at once, and more is claimed', async (t) => {
  const { clock, lane, source, begun, add } = await setup(t, { queueSize: 2, workerCount: 1 });
  await add(1, 2, 3, 4, 5, 6, 7);
  t.strictSame(begun, [1]);
  lane.resize({ queueSize: 2, workerCount: 4 });
  await clock.settle();
  t.strictSame(begun, [1, 2, 3, 4]);
  t.strictSame(lane.sizes, sizes(2, 2, 4, 4));
  t.strictSame(source.queue, [{ id: 7 }]);
});

t.test('of fewer workers the running jobs end in their time, and only then others begin', async (t) => {
  const { lane, source, metrics, begun, finish, add } = await setup(t, { queueSize: 3, workerCount: 3 });
  await add(1, 2, 3, 4, 5);
  lane.resize({ queueSize: 3, workerCount: 1 });
  await finish();
  t.strictSame(lane.sizes, sizes(2, 3, 3, 1), 'none was aborted');
  t.match(await metrics.text(), 'longshore_lane_workers{lane="import"} 1');
  await finish(1, 2);
  t.strictSame([lane.sizes.inFlight, begun], [1, [1, 2, 3]]);
  await finish(3);
  t.strictSame(begun, [1, 2, 3, 4]);
  await finish(4, 5);
  await finish(5);
  t.strictSame(source.written, ['1 done', '2 done', '3 done', '4 done', '5 done']);
});

t.test('what waits beyond a smaller mailbox is given back, the newest', async (t) => {
  const { lane, source, begun, finish, add } = await setup(t, { queueSize: 4, workerCount: 1 });
  await add(1, 2, 3, 4, 5);
  lane.resize({ queueSize: 1, workerCount: 1 });
  await finish();
  t.strictSame(source.written, ['3 abandoned', '4 abandoned', '5 abandoned']);
  t.strictSame(lane.sizes, sizes(1, 1, 1, 1));
  for (const id of [1, 2, 3, 4, 5]) await finish(id);
  t.strictSame(begun, [1, 2, 3, 4, 5]);
});

t.test('a mailbox made smaller for more workers gives back nothing that finds a worker', async (t) => {
  const { lane, source, begun, finish, add } = await setup(t, { queueSize: 3, workerCount: 1 });
  await add(1, 2, 3, 4);
  lane.resize({ queueSize: 1, workerCount: 3 });
  await finish();
  t.strictSame([source.written, begun, lane.sizes], [[], [1, 2, 3], sizes(1, 1, 3, 3)]);
});

t.test('what is claimed for places that are gone meanwhile is given back', async (t) => {
  const { lane, source, begun, finish, add } = await setup(t, { queueSize: 3, workerCount: 3 });
  const hold = Promise.withResolvers<void>();
  source.hold = hold.promise;
  await add(1, 2, 3, 4, 5, 6);
  lane.resize({ queueSize: 1, workerCount: 1 });
  source.hold = undefined;
  hold.resolve();
  await finish();
  t.strictSame(begun, [1]);
  t.strictSame(source.written, ['3 abandoned', '4 abandoned', '5 abandoned', '6 abandoned']);
});

t.test('a job that was to be aborted says why when it is given back', async (t) => {
  const { lane, source, finish, add } = await setup(t, { queueSize: 2, workerCount: 1 });
  await add(1, 2, 3);
  lane.abortJob(3, aborted('the dataset is being deleted'));
  lane.resize({ queueSize: 1, workerCount: 1 });
  await finish();
  t.strictSame(source.written, ['3 failed the dataset is being deleted']);
});

t.test('a job claimed again while it runs waits for a place when its own is gone', async (t) => {
  const { lane, begun, finish, add } = await setup(t, { queueSize: 2, workerCount: 2 });
  await add(1, 2);
  lane.abortJob(1, aborted('the lease was lost'));
  lane.resize({ queueSize: 2, workerCount: 3 });
  await add(1);
  lane.resize({ queueSize: 2, workerCount: 1 });
  await finish(1);
  t.strictSame(begun, [1, 2]);
  await finish(2);
  t.strictSame(begun, [1, 2, 1]);
});

t.test('a lane that stops begins nothing for more workers', async (t) => {
  const { clock, lane, source, begun, finish, add } = await setup(t, { queueSize: 2, workerCount: 1 });
  await add(1, 2, 3);
  const stopped = lane.stop(clock.now() + 10_000);
  lane.resize({ queueSize: 2, workerCount: 3 });
  await finish(1);
  await stopped;
  t.strictSame(begun, [1]);
  t.strictSame(source.written.toSorted(), ['1 done', '2 abandoned', '3 abandoned']);
});

t.test('however the bounds change, every job is done once and never more run than the bound lets begin', async (t) => {
  const step = fc.oneof(
    fc.record({ queueSize: fc.integer({ min: 1, max: 6 }), workerCount: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ end: fc.integer({ min: 0, max: 5 }) }),
    fc.constant('add' as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { lane, source, running, begun, finish, add } = await setup(t, { queueSize: 2, workerCount: 2 });
      let jobs = 0;
      for (const step of steps) {
        const before = begun.length;
        const busy = running.size;
        if (step === 'add') await add(++jobs, ++jobs);
        else if ('end' in step) await finish([...running][step.end] ?? -1);
        else {
          lane.resize(step);
          await finish();
        }
        if (begun.length > before && running.size > lane.sizes.workers) return false;
        if (running.size > Math.max(busy, lane.sizes.workers) || lane.sizes.depth > lane.sizes.capacity) return false;
      }
      while (running.size > 0) await finish(...running);
      await lane.stop(1_000_000);
      const done = source.written.filter((text) => text.endsWith('done')).map((text) => Number.parseInt(text, 10));
      return done.length === jobs && new Set(done).size === jobs && begun.length === jobs;
    }),
    { numRuns: 150 },
  );
  t.pass('for any sequence');
});
