// Total bytes in a folder while a program writes there. The system limits each single file; this limits their sum.

import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../engine/runtime/time.ts';

const LOOK_MS = 500;

/** Sums the plain files directly in the folder, except one. A file that has disappeared counts as zero. */
export async function bytesIn(dir: string, except: string): Promise<number> {
  let bytes = 0;
  for await (const { name } of await opendir(dir)) {
    if (name === except) continue;
    const found = await lstat(join(dir, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (found?.isFile()) bytes += found.size;
  }
  return bytes;
}

/** True once the files exceed `maxBytes`; false if the signal aborts first. */
export async function growsBeyond(
  { dir, except, maxBytes }: { readonly dir: string; readonly except: string; readonly maxBytes: number },
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    await clock.sleep(LOOK_MS, signal).catch(() => undefined);
    if (signal.aborted) return false;
    if ((await bytesIn(dir, except)) > maxBytes) return true;
  }
}
