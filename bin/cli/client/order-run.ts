// Has a daemon run now and, when asked, follows the run to its end.

import { Failure } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { ReportedRun, ReportedRuns } from './admin-client.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** What to ask: that a run begins, and which runs there are. */
export interface RunOrder<Run extends ReportedRun> {
  readonly start: (signal: AbortSignal) => Promise<unknown>;
  readonly runs: (signal: AbortSignal) => Promise<ReportedRuns<Run>>;
}

/**
 * Begins a run and asks again and again (50 ms to 2 s apart) until it has ended. Rejects when the server knows nothing of
 * the run any more: it was started anew.
 * @param tell called with the run as it stands at each look, and with the one before it
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
    if (!current) throw new Failure('transient', 'the server knows nothing of the run any more; was it started anew?');
    tell(current, before);
    await clock.sleep(pause, signal);
  }
}
