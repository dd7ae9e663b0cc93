// Shows the progress of an upload or download, unless the caller disabled it.

import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { CommandIo } from '../command.ts';
import { Progress, type ProgressOptions } from '../terminal/progress.ts';
import type { UploadSource } from './installer-client.ts';

export interface ShowValues {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
}

/** Drawn only on a terminal, and never with `--json` or `--quiet`. */
export function showProgress(
  options: ProgressOptions,
  { json, quiet }: ShowValues,
  io: Pick<CommandIo, 'errTerminal'>,
  clock: Clock,
): Progress {
  return new Progress(options, json || quiet ? undefined : io.errTerminal, clock);
}

/** Sends the files with `send` and shows the progress. */
export async function showUpload<Result>(
  files: readonly string[],
  url: string | undefined,
  send: (source: UploadSource) => Promise<Result>,
  values: ShowValues,
  io: Pick<CommandIo, 'errTerminal'>,
  clock: Clock,
): Promise<Result> {
  // The server downloads a URL itself, so there is no progress to show.
  if (files.length === 0) return await send({ files, url });
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const label = files.length === 1 ? basename(files[0] ?? '') : `${files.length} files`;
  using progress = showProgress({ label, unit: 'bytes', total }, values, io, clock);
  let sum = 0;
  const sent = (count: number): void => {
    sum += count;
    progress.at(sum);
  };
  const result = await send({ files, url, sent });
  progress.finish();
  return result;
}
