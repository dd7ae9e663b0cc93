// Reads and checks the input of an upload before anything is sent.

import { readFile, stat } from 'node:fs/promises';
import { UsageError } from '../usage-error.ts';

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
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new UsageError(`--details '${file}': must contain a JSON object`);
  return parsed;
}
