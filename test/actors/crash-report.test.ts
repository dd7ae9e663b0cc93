import t from 'tap';
import type { JobOutcome } from '../../engine/ports/jobs.ts';
import { ThreadDied } from '../../engine/thread-seat.ts';
import { PLASMO } from '../support/dataset-samples.ts';
import { LaneWorld, type RunningLane } from '../support/lane-world.ts';

const REASON = 'the worker thread died: out of memory';
const MESSAGE = `its worker died 3 times while it ran alone: ${REASON}`;

/** The outcomes of the job's runs when each of them kills its thread. */
async function crash(world: LaneWorld, lane: RunningLane): Promise<readonly JobOutcome[]> {
  const fatal = world.process(undefined, {
    run: async () => {
      throw new ThreadDied(REASON, true);
    },
  });
  const outcomes: JobOutcome[] = [];
  while (outcomes.length < 4) outcomes.push(await world.run(lane, fatal));
  return outcomes;
}

const again: JobOutcome = { kind: 'requeue', crashed: true };
const FOUR_RUNS: readonly JobOutcome[] = [again, again, again, { kind: 'dead', failure: 'defect', message: MESSAGE }];

t.test('the owner of a dataset whose import kills its thread is told so', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await world.before('import');
  t.strictSame(await crash(world, 'import'), FOUR_RUNS);
  t.strictSame(world.dataset(at).import, { status: 'failed', messages: [MESSAGE] });
  t.equal(world.jobs.get('import', at.dataset)?.state, 'dead');
});

t.test('the owner of a dataset whose install kills its thread is told so', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await world.before('install', { metadata: { installTargets: [PLASMO] } });
  t.strictSame(await crash(world, 'install'), FOUR_RUNS);
  const data = world.dataset(at).installs.filter(({ kind }) => kind === 'data');
  t.strictSame(data, [{ target: PLASMO, kind: 'data', status: 'failed-installation', messages: [MESSAGE] }]);
  t.equal(world.jobs.get('install', at.dataset)?.state, 'dead');
});

t.test('the owner of a dataset whose upload kills its thread is told so', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await world.accept();
  t.strictSame(await crash(world, 'upload'), FOUR_RUNS);
  t.strictSame(world.dataset(at).upload, { status: 'failed', message: MESSAGE });
  t.equal(world.jobs.get('upload', at.dataset)?.state, 'dead');
});
