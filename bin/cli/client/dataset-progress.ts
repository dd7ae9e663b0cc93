// A dataset's progress from upload to installed, derived from the status that the server returns.

import { Failure, messageOf } from '../../../engine/runtime/failure.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { ApiError } from '../command.ts';
import type { DatasetStatus, InstallerClient } from './installer-client.ts';

export type Ending = 'installed' | 'rejected' | 'invalid' | 'failed';

interface Step {
  readonly step: 'upload' | 'import' | 'data' | 'meta';
  /** Set for data and meta: the target. */
  readonly installTarget?: string;
  /** The server's status, or `waiting` before the step is due. */
  readonly status: string;
  readonly messages: readonly string[];
}

export interface DatasetProgress {
  /** Upload, import, and data and meta of every target. */
  readonly steps: readonly Step[];
  /** How many of the steps are complete. */
  readonly done: number;
  readonly ending: Ending | undefined;
}

export function progressOf(status: DatasetStatus, targets: readonly string[]): DatasetProgress {
  const { upload, import: imported } = status;
  const uploaded = upload.status === 'success';
  const importing = imported?.status ?? (uploaded ? 'queued' : 'waiting');
  const parts = targets.flatMap((target) => partsOf(status, target, importing === 'complete'));
  const steps: readonly Step[] = [
    { step: 'upload', status: upload.status, messages: upload.message ? [upload.message] : [] },
    { step: 'import', status: importing, messages: imported?.messages ?? [] },
    ...parts,
  ];
  const through = parts.filter((part) => part.status === 'complete').length;
  const done = uploaded ? (importing === 'complete' ? 2 + through : 1) : 0;
  return { steps, done, ending: endingOf(upload.status, importing, parts) };
}

/** One line for people. */
export function progressLine({ steps, done }: DatasetProgress): string {
  const shown = done === 0 ? steps.slice(0, 1) : done === 1 ? steps.slice(1, 2) : steps.slice(2);
  const texts = shown.map((step) => {
    const why = step.messages.length > 0 ? ` (${step.messages.join('; ')})` : '';
    return `${stepName(step)} ${step.status}${why}`;
  });
  return `${done >= 2 ? 'install ' : ''}${texts.join(', ')}`;
}

export const stepName = ({ step, installTarget }: Step): string =>
  installTarget === undefined ? step : `${installTarget} ${step}`;

function partsOf(status: DatasetStatus, installTarget: string, imported: boolean): readonly Step[] {
  const install = status.install?.find((one) => one.installTarget === installTarget);
  const unset = imported ? 'queued' : 'waiting';
  return (['data', 'meta'] as const).map((step) => ({
    ...{ step, installTarget },
    ...{ status: install?.[step]?.status ?? unset, messages: install?.[step]?.messages ?? [] },
  }));
}

function endingOf(upload: string, imported: string, parts: readonly Step[]): Ending | undefined {
  if (upload !== 'success') return upload === 'rejected' || upload === 'failed' ? upload : undefined;
  if (imported !== 'complete') return imported === 'invalid' || imported === 'failed' ? imported : undefined;
  if (parts.every((part) => part.status === 'complete')) return 'installed';
  const broken = parts.filter((part) => part.status.startsWith('failed') || part.status === 'missing-dependency');
  const moving = parts.some(
    ({ status, installTarget }) =>
      status === 'running' ||
      // A target's metadata are installed only after its data.
      (status === 'queued' && !broken.some((one) => one.installTarget === installTarget && one.step === 'data')),
  );
  return broken.length > 0 && !moving ? 'failed' : undefined;
}

// Follows a dataset until nothing more happens to it by itself.
//   poll, changed -> report; poll, unchanged -> nothing; no answer -> report once, retry for a while; ended -> done

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
const TOO_MANY = 429;

/**
 * Polls (every 50 ms to 1 s) and reports every change. Resolves with the ending. Rejects when the server returns an error, never
 * responded, or was unavailable for 30 s: it did not respond, or answered 429, 502, 503 or 504.
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
    let askedMs = 0;
    try {
      const { status, installTargets } = await client.show(dataset, signal);
      answered = clock.now();
      const progress = progressOf(status, installTargets);
      const now = JSON.stringify(progress);
      if (now !== said) watcher.changed(progress);
      said = now;
      if (progress.ending) return progress.ending;
    } catch (error) {
      const isAway = error instanceof Failure && error.unreachable;
      // The caller has asked too often, maybe not with this command.
      const isEarly = error instanceof ApiError && error.status === TOO_MANY;
      const mayReturn = (isAway || isEarly) && !signal.aborted;
      if (!mayReturn || answered === undefined || clock.now() - answered > PATIENCE_MS) throw error;
      if (isAway) {
        if (said !== '') watcher.away(messageOf(error));
        said = '';
      }
      askedMs = (isEarly && error.retryAfterMs) || 0;
    }
    await clock.sleep(Math.max(pause, askedMs), signal);
  }
}
