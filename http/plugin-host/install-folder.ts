// Where a dataset's files stand for the sites, and how they change there: whole or not at all.
//
//   install:    (nothing) -> .staging-{id} --script ended well--> .ready-{id} --swap--> {id}
//   swap:       {id}, if any -> deleting-{id}-{time}; .ready-{id} -> {id}; deleting-* removed
//   uninstall:  {id} -> deleting-{id}-{time}, removed
// After a kill a start finishes each swap (.ready-*) and removes the rest. One host at a time may own an install root.

import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../engine/log.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { Clock } from '../../engine/time.ts';
import type { HostedPlugin, HostedTarget } from './hosted-plugins.ts';

const STAGING = '.staging-';
const READY = '.ready-';
/** The time holds colons, which no dataset id has: a dataset of such a name is not mistaken for a leftover. */
const DELETING = /^deleting-.+-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The folder that holds one folder per dataset. */
export function datasetsFolder(plugin: HostedPlugin, target: HostedTarget, siteBuild: string): string {
  return target.datasetFileRoot === undefined
    ? join(plugin.installRoot, siteBuild, target.id)
    : join(plugin.installRoot, target.datasetFileRoot);
}

export class InstallFolder {
  readonly #parent: string;
  readonly #dataset: DatasetId;
  readonly #clock: Clock;
  readonly final: string;
  readonly staging: string;

  constructor(parent: string, dataset: DatasetId, clock: Clock) {
    this.#parent = parent;
    this.#dataset = dataset;
    this.#clock = clock;
    this.final = join(parent, dataset);
    this.staging = join(parent, STAGING + dataset);
  }

  /** Makes the parent and clears what an earlier attempt may have left. The script makes its folder itself. */
  async prepare(): Promise<void> {
    await mkdir(this.#parent, { recursive: true, mode: 0o775 });
    await this.discard();
  }

  async installed(): Promise<boolean> {
    return exists(this.final);
  }

  /** The staged tree, if the script made any, takes the place of the old one. */
  async commit(): Promise<void> {
    if (!(await exists(this.staging))) return this.remove();
    const ready = join(this.#parent, READY + this.#dataset);
    await rename(this.staging, ready);
    await swap(this.#parent, this.#dataset, this.#clock);
  }

  async discard(): Promise<void> {
    await rm(this.staging, { recursive: true, force: true });
  }

  /** Gone at once for the site, then removed; nothing there is fine. */
  async remove(): Promise<void> {
    const condemned = await condemn(this.#parent, this.#dataset, this.#clock);
    if (condemned !== undefined) await rm(condemned, { recursive: true, force: true });
  }
}

/** Finishes and clears what a kill left in a folder of datasets; a folder that is not there yet is fine. */
export async function sweepDatasets(parent: string, clock: Clock, log: Logger): Promise<void> {
  for (const name of await readdir(parent).catch(noEntries)) {
    if (name.startsWith(READY)) {
      const dataset = name.slice(READY.length) as DatasetId;
      log.warn({ dataset, folder: parent }, 'finishing an installation that was cut off');
      await swap(parent, dataset, clock);
    } else if (name.startsWith(STAGING) || DELETING.test(name)) {
      await rm(join(parent, name), { recursive: true, force: true });
    }
  }
}

async function swap(parent: string, dataset: DatasetId, clock: Clock): Promise<void> {
  const condemned = await condemn(parent, dataset, clock);
  await rename(join(parent, READY + dataset), join(parent, dataset));
  if (condemned !== undefined) await rm(condemned, { recursive: true, force: true });
}

async function condemn(parent: string, dataset: DatasetId, clock: Clock): Promise<string | undefined> {
  const to = join(parent, `deleting-${dataset}-${new Date(clock.now()).toISOString()}`);
  try {
    await rename(join(parent, dataset), to);
    return to;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

function noEntries(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
