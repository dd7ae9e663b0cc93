// The plugin calls that install a dataset's data on one target. Whatever may exist there already is uninstalled first, so rows
// are never duplicated. If another target has written the rows, only files are installed (../dataset/shared-data.ts).

import type { DataType } from '../../engine/model/data-types.ts';
import { INSTALL_KINDS } from '../../engine/model/status.ts';
import type { Catalog, CatalogChange, DatasetWithAttempts, ObjectVersion } from '../../engine/ports/catalog.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import type { InstallReply } from '../../engine/ports/plugin-client.ts';
import { holderOf, leftovers, type Neighbour } from '../dataset/shared-data.ts';
import { fileName, linesOf } from '../dataset/site-targets.ts';
import { objectFile, type TaskRunner } from '../tasks/task-map.ts';

interface InstallDataPorts {
  readonly catalog: Catalog;
  readonly tasks: TaskRunner;
}

/** The same for all targets of an attempt. */
interface InstallDataWork {
  readonly job: ClaimedJob;
  readonly record: DatasetWithAttempts;
  readonly type: DataType;
  readonly manifest: string;
  readonly payload: ObjectInfo;
  readonly version: ObjectVersion;
  readonly properties: readonly ObjectInfo[];
}

export interface InstallPlace {
  readonly target: InstallTarget;
  /** An install on this target may have begun before. */
  readonly begun: boolean;
  readonly neighbours: readonly Neighbour[];
}

export async function installData(
  work: InstallDataWork,
  place: InstallPlace,
  ports: InstallDataPorts,
  signal: AbortSignal,
): Promise<InstallReply> {
  const holder = holderOf(place.neighbours, work.version);
  if (holder) return installFiles(work, place, holder, ports, signal);
  const { job } = work;
  const { metadata, attempts } = work.record;
  const options = { signal, alone: job.alone, owner: job.owner };
  const cleared = leftovers(place.neighbours, attempts);
  for (const neighbour of cleared) await withdraw(work, neighbour, ports.catalog, signal);
  for (const target of [...cleared.map((one) => one.target), ...(place.begun ? [place.target] : [])]) {
    const gone = await ports.tasks.run('uninstall', { ...callOf(work, target), type: metadata.type }, options);
    if (gone.kind !== 'success') return gone;
  }
  return ports.tasks.run(
    'install-data',
    {
      ...callOf(work, place.target),
      metadata,
      manifest: work.manifest,
      payload: objectFile(work.payload, 'install-ready.zip'),
      properties: work.properties.map((info) => objectFile(info, fileName(info.key))),
    },
    options,
  );
}

/** The plugin's messages about the data apply to this target too. */
async function installFiles(
  work: InstallDataWork,
  { target, begun }: InstallPlace,
  { target: source, state }: Neighbour,
  { tasks }: InstallDataPorts,
  signal: AbortSignal,
): Promise<InstallReply> {
  const { job } = work;
  const { metadata } = work.record;
  const options = { signal, alone: job.alone, owner: job.owner };
  const call = callOf(work, target);
  if (begun) {
    const gone = await tasks.run('uninstall-files', { ...call, type: metadata.type }, options);
    if (gone.kind !== 'success') return gone;
  }
  const reply = await tasks.run('install-files', { ...call, metadata, source: source.id }, options);
  if (reply.kind !== 'success') return reply;
  const said = state.messages.data?.message;
  return { ...reply, validation: { basic: linesOf(said === undefined ? [] : [said]), community: [] } };
}

/**
 * The neighbor's rows of an older version are about to be removed. Before that, it becomes due again and is no longer shown.
 */
async function withdraw(
  { job }: InstallDataWork,
  { target, state }: Neighbour,
  catalog: Catalog,
  signal: AbortSignal,
): Promise<void> {
  if (state.messages.data?.status !== 'complete') return;
  const queued = { status: 'queued' } as const;
  await target.write(job.dataset, { messages: { data: queued, meta: queued } }, job.lease.token, signal);
  const copies = INSTALL_KINDS.map((kind): CatalogChange => {
    return { set: 'install', target: target.id, kind, ...queued, messages: [] };
  });
  await catalog.write(job.dataset, job.lease, copies, signal);
}

function callOf({ job, type }: InstallDataWork, target: InstallTarget) {
  const { eventId, dataset, traceparent } = job;
  return { plugin: type.plugin, eventId, dataset, traceparent, target: target.id };
}
