// Follows a dataset until nothing more will happen to it by itself.

import type { Clock } from '../../engine/time.ts';
import type { DatasetStatus, InstallerClient } from './installer-client.ts';

export type Ending = 'installed' | 'rejected' | 'invalid' | 'failed';

export interface Progress {
  /** Steps done of all steps: upload, import, and meta and data per target. */
  readonly done: number;
  readonly steps: number;
  /** Where it stands, for people. */
  readonly text: string;
  readonly ending: Ending | undefined;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** Asks again and again (50 ms to 1 s apart) and tells every change; resolves with how it ended. */
export async function watchDataset(
  client: InstallerClient,
  dataset: string,
  targets: readonly string[],
  tell: (progress: Progress) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<Ending> {
  let said = '';
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.3, LONGEST_PAUSE_MS)) {
    const item = await client.show(dataset, signal);
    const progress = progressOf(item.status, targets.length > 0 ? targets : item.installTargets);
    if (progress.text !== said) tell(progress);
    said = progress.text;
    if (progress.ending) return progress.ending;
    await clock.sleep(pause, signal);
  }
}

export function progressOf(status: DatasetStatus, targets: readonly string[]): Progress {
  const steps = 2 + 2 * targets.length;
  const { upload } = status;
  if (upload.status !== 'success') {
    const ending = upload.status === 'rejected' || upload.status === 'failed' ? upload.status : undefined;
    return { done: 0, steps, text: say('upload', upload.status, upload.message ? [upload.message] : []), ending };
  }
  const imported = status.import;
  if (imported?.status !== 'complete') {
    const state = imported?.status ?? 'queued';
    const ending = state === 'invalid' || state === 'failed' ? state : undefined;
    return { done: 1, steps, text: say('import', state, imported?.messages ?? []), ending };
  }
  const parts = targets.flatMap((target) => {
    const install = status.install?.find((one) => one.installTarget === target);
    return [
      { name: `${target} data`, status: install?.data?.status ?? 'queued', messages: install?.data?.messages ?? [] },
      { name: `${target} meta`, status: install?.meta?.status ?? 'queued', messages: install?.meta?.messages ?? [] },
    ];
  });
  const done = parts.filter((part) => part.status === 'complete').length;
  const broken = parts.filter((part) => part.status.startsWith('failed') || part.status === 'missing-dependency');
  const moving = parts.some(
    (part) => part.status === 'running' || (part.status === 'queued' && !waitsForBroken(part.name, broken)),
  );
  const ending = done === parts.length ? 'installed' : broken.length > 0 && !moving ? 'failed' : undefined;
  const text = parts.map((part) => say(part.name, part.status, part.messages)).join(', ');
  return { done: 2 + done, steps, text: `install ${text}`, ending };
}

/** Metadata of a target are installed only after its data. */
function waitsForBroken(part: string, broken: readonly { readonly name: string }[]): boolean {
  return broken.some((one) => one.name.replace(/ data$/, ' meta') === part);
}

const say = (name: string, status: string, messages: readonly string[]): string =>
  messages.length > 0 ? `${name} ${status} (${messages.join('; ')})` : `${name} ${status}`;
