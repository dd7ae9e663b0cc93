// Orders a run of a daemon and optionally follows it to its end.

import { Failure } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { ReportedRun, ReportedRuns } from './admin-client.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** The calls to start a run and to list runs. */
export interface RunOrder<Run extends ReportedRun> {
  readonly start: (signal: AbortSignal) => Promise<unknown>;
  readonly runs: (signal: AbortSignal) => Promise<ReportedRuns<Run>>;
}

/**
 * Starts a run and polls (every 50 ms to 2 s) until it has ended. Rejects if the server no longer knows the run because it was
 * restarted.
 * @param tell called at each poll with the current run and with the last run before the order
 */
export async function runToItsEnd<Run extends ReportedRun>(
  { start, runs }: RunOrder<Run>,
  tell: (current: Run, before: Run | undefined) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<Run> {
  const { last: before } = await runs(signal);
  await start(signal);
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.3, LONGEST_PAUSE_MS)) {
    const { current, last } = await runs(signal);
    if (last && last.started !== before?.started) return last;
    if (!current) throw new Failure('transient', 'the server no longer knows the run; was the server restarted?');
    tell(current, before);
    await clock.sleep(pause, signal);
  }
}
