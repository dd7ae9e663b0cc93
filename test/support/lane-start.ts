// Where tests of lanes begin: a world of their own, with one dataset in it.

import type { Test } from 'tap';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import { type LaneProcess, LaneWorld, type RunningLane, type Upload } from './lane-world.ts';

export interface Begun {
  readonly world: LaneWorld;
  readonly at: DatasetAddress;
}

/** A dataset that is accepted: no lane has run. */
export async function acceptedWorld(t: Test, upload?: Upload): Promise<Begun> {
  const world = new LaneWorld(t.testdir());
  return { world, at: await world.accept(upload) };
}

/** A dataset just before the job of the lane. */
export async function worldBefore(t: Test, lane: RunningLane, upload?: Upload): Promise<Begun> {
  const world = new LaneWorld(t.testdir());
  return { world, at: await world.before(lane, upload) };
}

/** A dataset for which nothing is left to do: unless the upload says otherwise it is installed on its targets. */
export async function installedWorld(t: Test, upload?: Upload): Promise<Begun> {
  const { world, at } = await acceptedWorld(t, upload);
  await world.finish();
  return { world, at };
}

/** The job of the lane in the hands of a process that has claimed it and not begun. */
export async function claimed(
  world: LaneWorld,
  lane: RunningLane,
  process: LaneProcess = world.process(),
): Promise<{ readonly process: LaneProcess; readonly job: ClaimedJob }> {
  const job = await process.claim(lane);
  if (!job) throw new Error(`no job of lane ${lane} is due`);
  return { process, job };
}
