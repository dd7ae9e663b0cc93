// Says of one dataset on one target that nothing of it is installed there: it was uninstalled, or install-data was asked for
// and its script has not begun. Many plugins read in DATA_FILES what their uninstall has to remove, and fail when it is not
// there. That is no failure when there is nothing to remove: when the answer to an uninstall was lost in a kill, and when an
// install was cut off or refused before its script. Of targets that share a data schema, a mark for all of them says that
// no rows are there: the uninstall of one has removed those of all, and the uninstall of another has nothing to do. Kept on the host's own disk, where a start finds it again.

import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { Clock } from '../../engine/runtime/time.ts';

/** Long after whoever asked for the uninstall has stopped asking again. */
const KEPT_MS = 90 * 24 * 3600 * 1000;

export class ClearMark {
  readonly #file: string;

  private constructor(dir: string, place: string, dataset: DatasetId) {
    this.#file = join(dir, place, dataset);
  }

  static ofTarget(dir: string, target: TargetId, dataset: DatasetId): ClearMark {
    return new ClearMark(dir, target, dataset);
  }

  /** The name is made of what no target id can be. */
  static ofDataSchema(dir: string, dataSchema: string, dataset: DatasetId): ClearMark {
    const name = createHash('sha256').update(dataSchema).digest('hex');
    return new ClearMark(dir, `.schema-${name}`, dataset);
  }

  async isSet(): Promise<boolean> {
    return (await stat(this.#file).catch(() => undefined)) !== undefined;
  }

  async set(): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    await writeFile(this.#file, '');
  }

  /** Before a script begins to install. */
  async remove(): Promise<void> {
    await rm(this.#file, { force: true });
  }
}

/** Forgets old marks, so that they do not pile up. */
export async function sweepClearMarks(dir: string, clock: Clock): Promise<void> {
  for (const name of await readdir(dir, { recursive: true }).catch(() => [])) {
    const file = join(dir, name);
    const made = await stat(file).catch(() => undefined);
    if (made?.isFile() && made.mtimeMs < clock.now() - KEPT_MS) await rm(file, { force: true });
  }
}
