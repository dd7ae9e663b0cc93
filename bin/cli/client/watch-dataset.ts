// Follows a dataset until nothing more will happen to it by itself.
//   asked, changed -> told; asked, the same -> silence; no answer -> told once, asked again for a while; ended -> over

import { Failure, messageOf } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { type DatasetProgress, type Ending, progressOf } from './dataset-progress.ts';
import type { InstallerClient } from './installer-client.ts';

/** Who wants to know. */
export interface Watcher {
  /** At the first answer and whenever it is another one. */
  changed(progress: DatasetProgress): void;
  /** The server gave no answer and is asked again. */
  away(reason: string): void;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** A server that is started anew answers sooner. */
const PATIENCE_MS = 30_000;

/**
 * Asks again and again (50 ms to 1 s apart) and tells every change; resolves with how it ended. Rejects when the server
 * refuses, when it never answered, or not for 30 s.
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
