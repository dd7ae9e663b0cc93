// Bytes in a folder while a program writes there. Each file by itself is limited by the system; this limits their sum.

import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../engine/runtime/time.ts';

const LOOK_MS = 500;

/** Of all plain files in the folder itself but the one left out. A file that is gone by then counts nothing. */
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

/** True once there is more; false when the signal aborts first. */
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
