// One dataset's failed installs, made ready to be tried again under the dataset's lease, as any lane would write them:
//   failed-installation | missing-dependency --> ready-for-reinstall   in the control DB first, in its mirror second
// The jobs are asked for before the statuses are written, so that no crash in between leaves a status that nobody acts on;
// they cannot begin before the lease is free.

import type { LaneName } from '../../engine/model/event.ts';
import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { InstallKind } from '../../engine/model/status.ts';
import type { Catalog, DatasetRecord, InstallRecord } from '../../engine/ports/catalog.ts';
import type { EventLog } from '../../engine/ports/event-log.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import type { JobAdmin, Jobs, Lease, Leases } from '../../engine/ports/jobs.ts';
import type { ClearSkip } from '../../engine/ports/process-control.ts';
import { kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import type { InstallTargets } from '../dataset/site-targets.ts';
import { mirrorOf } from '../reconciliation/reconcile-targets.ts';

export interface ClearPorts {
  readonly catalog: Pick<Catalog, 'find' | 'write'>;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly jobAdmin: Pick<JobAdmin, 'revive'>;
  readonly leases: Pick<Leases, 'acquire' | 'release'>;
  readonly events: Pick<EventLog, 'nextEventId'>;
  readonly targets: InstallTargets;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ClearedDataset {
  readonly cleared: number;
  readonly jobs: number;
  readonly skipped: readonly ClearSkip[];
}

/** What is left of a lease's 30 s for a slow database. */
const WORK_MS = 20_000;
const RELEASE_MS = 5_000;
/** Which lane installs what. */
const LANES = { data: 'install', meta: 'updateMeta' } as const satisfies Record<InstallKind, LaneName>;

/**
 * Clears the failed installs of the dataset that `wanted` lets through.
 * @param run has the lanes try them
 */
export async function clearDataset(
  dataset: DatasetId,
  wanted: (target: TargetId) => boolean,
  run: boolean,
  ports: ClearPorts,
  signal: AbortSignal,
): Promise<ClearedDataset> {
  const seen = stuck(await ports.catalog.find(dataset, signal), wanted);
  if (seen.length === 0) return skipAll(['not-failed']);
  const lease = await ports.leases.acquire(dataset, signal);
  if (!lease) return skipAll(seen.map(() => 'busy'));
  try {
    const late = (): Error => new Error(`dataset ${dataset}: databases took longer than ${WORK_MS} ms`);
    using limit = deadline(ports.clock, WORK_MS, signal, late);
    return await new DatasetClearing(dataset, lease, ports, limit.signal).clear(wanted, run);
  } catch (error) {
    // Somebody took the lease from a process that was slow: what we have not written is theirs now.
    if (kindOf(error) !== 'aborted' || signal.aborted) throw error;
    return skipAll(seen.map(() => 'busy'));
  } finally {
    await release(lease, ports);
  }
}

class DatasetClearing {
  readonly #dataset: DatasetId;
  readonly #lease: Lease;
  readonly #ports: ClearPorts;
  readonly #signal: AbortSignal;
  readonly #skipped: ClearSkip[] = [];
  #cleared = 0;

  constructor(dataset: DatasetId, lease: Lease, ports: ClearPorts, signal: AbortSignal) {
    this.#dataset = dataset;
    this.#lease = lease;
    this.#ports = ports;
    this.#signal = signal;
  }

  async clear(wanted: (target: TargetId) => boolean, run: boolean): Promise<ClearedDataset> {
    const record = await this.#ports.catalog.find(this.#dataset, this.#signal);
    const installs = stuck(record, wanted);
    if (!record || installs.length === 0) return skipAll(['not-failed']);
    const states = await this.#readStates(installs);
    const due = installs.filter((install) => isDue(install, states.get(install.target)));
    const lanes = new Set(due.map(({ kind }) => LANES[kind]));
    if (run) await this.#request(record, [...lanes]);
    for (const install of installs) await this.#settle(install, states.get(install.target), due.includes(install));
    return { cleared: this.#cleared, jobs: run ? lanes.size : 0, skipped: this.#skipped };
  }

  /** Of the targets that are there and answer. */
  async #readStates(installs: readonly InstallRecord[]): Promise<ReadonlyMap<TargetId, ControlState>> {
    const states = new Map<TargetId, ControlState>();
    for (const id of new Set(installs.map(({ target }) => target))) {
      const target = this.#ports.targets.get(id);
      if (!target) continue;
      try {
        states.set(id, await target.state(this.#dataset, this.#signal));
      } catch (error) {
        this.#passOver(id, error);
      }
    }
    return states;
  }

  /** An event on a dead job is only noted: the administrator wants it to run. */
  async #request({ owner }: DatasetRecord, lanes: readonly LaneName[]): Promise<void> {
    const { events, jobAdmin, jobs } = this.#ports;
    const dataset = this.#dataset;
    for (const lane of lanes) {
      if (await jobAdmin.revive(lane, dataset, this.#signal)) continue;
      const eventId = await events.nextEventId(this.#signal);
      await jobs.enqueue([{ lane, owner, dataset, eventId, source: 'admin' }], this.#signal);
    }
  }

  async #settle(install: InstallRecord, state: ControlState | undefined, due: boolean): Promise<void> {
    const { targets, catalog } = this.#ports;
    const { target, kind } = install;
    const site = targets.get(target);
    if (!site || !state) {
      this.#skipped.push(site ? 'target-away' : 'target-disabled');
      return;
    }
    const truth = mirrorOf(target, kind, state);
    if (!due) {
      // The mirror was behind: what the target says is what counts.
      if (truth) await catalog.write(this.#dataset, this.#lease, [truth], this.#signal);
      this.#skipped.push('not-failed');
      return;
    }
    // Why it failed stays to be read until the next try says something else.
    const message = state.messages[kind]?.message;
    const said = { status: 'ready-for-reinstall', ...(message === undefined ? {} : { message }) } as const;
    try {
      // Where only the mirror says that it failed, the target's own status makes it due already.
      if (isStuck(truth)) await site.writeMessage(this.#dataset, kind, said, this.#lease.token, this.#signal);
    } catch (error) {
      this.#passOver(target, error);
      this.#skipped.push('target-away');
      return;
    }
    const copy = { ...install, set: 'install', status: 'ready-for-reinstall' } as const;
    await catalog.write(this.#dataset, this.#lease, [copy], this.#signal);
    this.#cleared++;
  }

  /** The other targets of the dataset are dealt with all the same. */
  #passOver(target: TargetId, error: unknown): void {
    if (kindOf(error) === 'aborted' || this.#signal.aborted) throw error;
    const about = { dataset: this.#dataset, target, err: messageOf(error) };
    this.#ports.log.warn(about, 'failed install not cleared: its target does not answer');
  }
}

type Status = Pick<InstallRecord, 'status'> | undefined;
const isStuck = (install: Status): boolean =>
  install?.status === 'failed-installation' || install?.status === 'missing-dependency';

/** What the mirror of a live dataset says has failed. */
function stuck(record: DatasetRecord | undefined, wanted: (target: TargetId) => boolean): readonly InstallRecord[] {
  if (record?.state !== 'live') return [];
  return record.installs.filter((install) => isStuck(install) && wanted(install.target));
}

/**
 * The target agrees; or it has said nothing final, since the job failed as a whole and only the mirror could tell; or it
 * was told before by a run that died.
 */
function isDue({ target, kind }: InstallRecord, state: ControlState | undefined): boolean {
  if (state?.deletedStatus !== 0) return false;
  const truth = mirrorOf(target, kind, state)?.status;
  return truth !== 'complete' && truth !== 'failed-validation';
}

const skipAll = (skipped: readonly ClearSkip[]): ClearedDataset => ({ cleared: 0, jobs: 0, skipped });

/** With a time of its own: a lease that is not given back blocks the dataset until it expires. */
async function release(lease: Lease, { leases, clock, log }: ClearPorts): Promise<void> {
  using limit = deadline(clock, RELEASE_MS, undefined, () => new Error(`no answer in ${RELEASE_MS} ms`));
  try {
    await leases.release(lease, limit.signal);
  } catch (error) {
    log.warn({ dataset: lease.name, err: messageOf(error) }, 'lease not released; it expires');
  }
}
