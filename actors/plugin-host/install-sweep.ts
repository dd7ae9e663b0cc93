// What a kill left in a folder of datasets is finished or removed when a host starts (states: install-folder.ts).

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DatasetId, parseDatasetId } from '../../engine/model/ids.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { removeTree } from '../../engine/runtime/remove-tree.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { InstallFolder, OWNER, READY, STAGING } from './install-folder.ts';

/** The time holds colons, which no dataset id has: a dataset of such a name is not mistaken for a leftover. */
const DELETING = /^deleting-.+-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Installations under way of plugins other than those named are left alone: another host may be at work on them. A folder
 * that is not there yet is fine; what cannot be removed is logged and stays.
 */
export async function sweepDatasets(
  parent: string,
  plugins: readonly string[],
  clock: Clock,
  log: Logger,
): Promise<void> {
  const names = await readdir(parent).catch(noEntries);
  for (const dataset of datasetsUnderWay(names)) {
    const owner = await readFile(join(parent, OWNER + dataset), 'utf8').catch(() => undefined);
    // Empty: its writer was killed before it wrote, so before its script.
    if (owner && !plugins.includes(owner)) continue;
    const folder = new InstallFolder(parent, dataset, clock, log);
    if (names.includes(READY + dataset)) {
      log.warn({ dataset, folder: parent }, 'finishing an installation that was cut off');
      await folder.swap();
    }
    await folder.discard().catch((err: unknown) => log.warn({ err, dataset, folder: parent }, UNREMOVED));
  }
  for (const name of names.filter((one) => DELETING.test(one)))
    await removeTree(join(parent, name)).catch((err: unknown) =>
      log.warn({ err, folder: join(parent, name) }, UNREMOVED),
    );
}

const UNREMOVED = 'leftover of a process that was killed not removed';

function datasetsUnderWay(names: readonly string[]): ReadonlySet<DatasetId> {
  const ids = names.flatMap((name) => {
    const prefix = [READY, STAGING, OWNER].find((one) => name.startsWith(one));
    const id = prefix === undefined ? undefined : parseDatasetId(name.slice(prefix.length));
    return id === undefined ? [] : [id];
  });
  return new Set(ids);
}

function noEntries(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
