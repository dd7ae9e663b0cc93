// A dataset's progress from upload to installed, derived from the status that the server returns.

import type { DatasetStatus } from './installer-client.ts';

export type Ending = 'installed' | 'rejected' | 'invalid' | 'failed';

export interface Step {
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
