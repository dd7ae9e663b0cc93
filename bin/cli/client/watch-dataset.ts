// Follows a dataset until nothing more happens to it by itself.
//   poll, changed -> report; poll, unchanged -> nothing; no answer -> report once, retry for a while; ended -> done

import { Failure, messageOf } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { type DatasetProgress, type Ending, progressOf } from './dataset-progress.ts';
import type { InstallerClient } from './installer-client.ts';

/** Receives the changes. */
export interface Watcher {
  /** Called for the first response and for every different one. */
  changed(progress: DatasetProgress): void;
  /** The server did not respond; polling continues. */
  away(reason: string): void;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** Longer than a restart of the server takes. */
const PATIENCE_MS = 30_000;

/**
 * Polls (every 50 ms to 1 s) and reports every change. Resolves with the ending. Rejects when the server returns an error,
 * never responded, or did not respond for 30 s.
 */
export async function watchDataset(
  client: Pick<InstallerClient, 'show'>,
  dataset: string,
  watcher: Watcher,
  clock: Clock,
  signal: AbortSignal,
): Promise<Ending> {
  let said = '';
  let answered: number | undefined;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.3, LONGEST_PAUSE_MS)) {
    try {
      const { status, installTargets } = await client.show(dataset, signal);
      answered = clock.now();
      const progress = progressOf(status, installTargets);
      const now = JSON.stringify(progress);
      if (now !== said) watcher.changed(progress);
      said = now;
      if (progress.ending) return progress.ending;
    } catch (error) {
      const mayReturn = error instanceof Failure && error.unreachable && !signal.aborted;
      if (!mayReturn || answered === undefined || clock.now() - answered > PATIENCE_MS) throw error;
      if (said !== '') watcher.away(messageOf(error));
      said = '';
    }
    await clock.sleep(pause, signal);
  }
}
