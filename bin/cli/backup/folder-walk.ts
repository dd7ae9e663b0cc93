// Walks through a folder while others may change it. What disappears meanwhile is left out.

import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../../engine/runtime/failure.ts';

export interface Found {
  /** Relative to the folder. */
  readonly path: string;
  /** On disk. */
  readonly source: string;
}

/**
 * The folders and files below `folder`, each folder before its content.
 * @param leaves true = leave it out, with its content
 */
export async function* walk(folder: string, leaves: (path: string) => boolean, within = ''): AsyncGenerator<Found> {
  const entries = await opendir(join(folder, within)).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  for await (const entry of entries) {
    const path = within === '' ? entry.name : `${within}/${entry.name}`;
    if (leaves(path)) continue;
    yield { path, source: join(folder, path) };
    if (entry.isDirectory()) yield* walk(folder, leaves, path);
  }
}
