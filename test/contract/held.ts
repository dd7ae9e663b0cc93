// A script that waits for the test: the uploaded file names a pipe, which the script reads (fixtures/scripts/told).

import { execFileSync } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';

export interface Held {
  /** Content of the file to upload. */
  readonly content: string;
  /** Resolves when the script waits. */
  reached(): Promise<void>;
  release(): Promise<void>;
  /** For a script that was ended while it waited. */
  forget(): Promise<void>;
}

export function held(dir: string, name: string): Held {
  const pipe = join(dir, name);
  execFileSync('mkfifo', [pipe]);
  let writer: FileHandle | undefined;
  return {
    content: pipe,
    async reached() {
      // Opens once somebody reads.
      writer = await open(pipe, 'w');
    },
    async release() {
      await writer?.write('go\n');
      await writer?.close();
    },
    async forget() {
      await writer?.close();
    },
  };
}
