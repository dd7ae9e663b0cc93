import t from 'tap';
import type { JobOutcome } from '../../engine/ports/jobs.ts';
import { ThreadDied } from '../../engine/threads/thread-group.ts';
import type { FakeDataset } from '../fakes/fake-catalog.ts';
import { PLASMO } from '../support/dataset-samples.ts';
import { worldBefore } from '../support/lane-start.ts';
import type { LaneWorld, RunningLane } from '../support/lane-world.ts';

const REASON = 'the worker thread died: out of memory';
const MESSAGE = `its worker crashed 3 times while the job ran alone: ${REASON}`;

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

/** Operators have the message. */
const TOLD = 'an internal error; an administrator can see why';
const FAILED = { status: 'failed', messages: [TOLD] };
const FAILED_DATA = { target: PLASMO, kind: 'data', status: 'failed-installation', messages: [TOLD] };
const told: Readonly<Record<string, readonly [RunningLane, (dataset: FakeDataset) => unknown, unknown]>> = {
  upload: ['upload', ({ upload }) => upload, { status: 'failed', message: TOLD }],
  import: ['import', (dataset) => dataset.import, FAILED],
  install: ['install', ({ installs }) => installs.filter(({ kind }) => kind === 'data'), [FAILED_DATA]],
};

for (const [what, [lane, said, expected]] of Object.entries(told))
  t.test(`the owner of a dataset whose ${what} kills its thread is told so`, async (t) => {
    const { world, at } = await worldBefore(t, lane, { metadata: { installTargets: [PLASMO] } });
    t.strictSame(await crash(world, lane), FOUR_RUNS);
    t.strictSame(said(world.dataset(at)), expected);
    t.equal(world.jobs.get(lane, at.dataset)?.state, 'dead');
  });
