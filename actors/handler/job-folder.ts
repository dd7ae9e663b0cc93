// The folder of one job, `{work}/job-{internal id}`, gone with it:
//   upload    what was received          files/   the unpacked dataset, in which the commands run
//   tmp/      TMPDIR of the commands     package/ what we add to a result, and the result

import { mkdir, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../../engine/runtime/remove-tree.ts';

const PREFIX = 'job-';

export class JobFolder implements AsyncDisposable {
  readonly #root: string;
  readonly upload: string;
  readonly files: string;
  readonly tmp: string;
  readonly package: string;

  private constructor(root: string) {
    this.#root = root;
    this.upload = join(root, 'upload');
    this.files = join(root, 'files');
    this.tmp = join(root, 'tmp');
    this.package = join(root, 'package');
  }

  static async make(under: string, id: string): Promise<JobFolder> {
    const folder = new JobFolder(join(under, PREFIX + id));
    await mkdir(folder.#root, { recursive: true, mode: 0o700 });
    for (const dir of [folder.files, folder.tmp, folder.package]) await mkdir(dir);
    return folder;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeTree(this.#root);
  }
}

/** Removes the folders of a process that was killed; called before the first job. */
export async function sweepJobFolders(under: string): Promise<void> {
  await mkdir(under, { recursive: true, mode: 0o700 });
  for await (const entry of await opendir(under))
    if (entry.name.startsWith(PREFIX)) await removeTree(join(under, entry.name));
}
