// Uploads and downloads: their input is checked before anything is sent, and their progress is shown.

import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { isObject } from '../../../engine/model/json.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { type CommandIo, UsageError } from '../command.ts';
import { Progress, type ProgressOptions } from '../terminal/progress.ts';
import type { UploadSource } from './installer-client.ts';
import { uploadStateDir } from './resumable-transfer.ts';

// Reads and checks the input of an upload before anything is sent.

/** Throws a usage error when neither a file nor a URL is given, or when a file cannot be sent. */
export async function checkInputs(files: readonly string[], url: string | undefined): Promise<void> {
  if (files.length === 0 && url === undefined) throw new UsageError('a FILE or --url URL is required');
  for (const file of files) {
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile()) throw new UsageError(`'${file}' is not a readable file`);
  }
}

/** The JSON object in the `--details` file; empty without the option. */
export async function readDetails(file: string | undefined): Promise<object> {
  if (file === undefined) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new UsageError(`--details '${file}': not valid JSON`, { cause });
  }
  if (!isObject(parsed)) throw new UsageError(`--details '${file}': must contain a JSON object`);
  return parsed;
}

// Shows the progress of an upload or download, unless the caller disabled it.

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
  io: Pick<CommandIo, 'errTerminal' | 'env'>,
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
  const result = await send({ files, url, sent, stateDir: uploadStateDir(io.env) });
  progress.finish();
  return result;
}
