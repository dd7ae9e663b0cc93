// Resets one dataset's failed installs so that they are retried. Holds the dataset's lease and writes like any lane:
//   failed-installation | missing-dependency --> ready-for-reinstall   in the control DB first, then in its mirror
// The jobs are enqueued before the statuses are written, so a crash in between leaves no status that nobody acts on. The jobs
// cannot start before the lease is released.

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

/** Leaves the rest of the lease's 30 s as a margin for a slow database. */
const WORK_MS = 20_000;
const RELEASE_MS = 5_000;
/** The lane that installs each kind. */
const LANES = { data: 'install', meta: 'updateMeta' } as const satisfies Record<InstallKind, LaneName>;

/** Which failed installs are meant. */
type Wanted = (install: Pick<InstallRecord, 'target' | 'kind'>) => boolean;

/**
 * Clears the failed installs of the dataset that `wanted` accepts.
 * @param run whether to enqueue jobs for the lanes
 */
export async function clearDataset(
  dataset: DatasetId,
  wanted: Wanted,
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
    // This process was slow and another took the lease. What we have not written yet is up to the new holder.
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

  async clear(wanted: Wanted, run: boolean): Promise<ClearedDataset> {
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

  /** States of the targets that are enabled and answer. */
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

  /** Revives a dead job first: an event alone would only be recorded on it, but the administrator wants it to run. */
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
      // The mirror was stale: the target's status is authoritative.
      if (truth) await catalog.write(this.#dataset, this.#lease, [truth], this.#signal);
      this.#skipped.push('not-failed');
      return;
    }
    // Keep the failure message readable until the next attempt replaces it.
    const message = state.messages[kind]?.message;
    const said = { status: 'ready-for-reinstall', ...(message === undefined ? {} : { message }) } as const;
    try {
      // If only the mirror says that it failed, the target's own status already makes it due.
      if (isStuck(truth))
        await site.write(this.#dataset, { messages: { [kind]: said } }, this.#lease.token, this.#signal);
    } catch (error) {
      this.#passOver(target, error);
      this.#skipped.push('target-away');
      return;
    }
    const copy = { ...install, set: 'install', status: 'ready-for-reinstall' } as const;
    await catalog.write(this.#dataset, this.#lease, [copy], this.#signal);
    this.#cleared++;
  }

  /** Logs the failure and goes on, so that the dataset's other targets are still processed. */
  #passOver(target: TargetId, error: unknown): void {
    if (kindOf(error) === 'aborted' || this.#signal.aborted) throw error;
    const about = { dataset: this.#dataset, target, err: messageOf(error) };
    this.#ports.log.warn(about, 'failed install not cleared: the target does not respond');
  }
}

type Status = Pick<InstallRecord, 'status'> | undefined;
const isStuck = (install: Status): boolean =>
  install?.status === 'failed-installation' || install?.status === 'missing-dependency';

/** The installs of a live dataset that have failed according to the mirror. */
function stuck(record: DatasetRecord | undefined, wanted: Wanted): readonly InstallRecord[] {
  if (record?.state !== 'live') return [];
  return record.installs.filter((install) => isStuck(install) && wanted(install));
}

/**
 * True if the target agrees with the mirror. Also true if the target has no final status, because the job failed as a whole and
 * only the mirror knows, or because a crashed run already reset it.
 */
function isDue({ target, kind }: InstallRecord, state: ControlState | undefined): boolean {
  if (state?.deletedStatus !== 0) return false;
  const truth = mirrorOf(target, kind, state)?.status;
  return truth !== 'complete' && truth !== 'failed-validation';
}

const skipAll = (skipped: readonly ClearSkip[]): ClearedDataset => ({ cleared: 0, jobs: 0, skipped });

/** Has its own deadline: a lease that is not released blocks the dataset until it expires. */
async function release(lease: Lease, { leases, clock, log }: ClearPorts): Promise<void> {
  using limit = deadline(clock, RELEASE_MS, undefined, () => new Error(`no answer in ${RELEASE_MS} ms`));
  try {
    await leases.release(lease, limit.signal);
  } catch (error) {
    log.warn({ dataset: lease.name, err: messageOf(error) }, 'lease not released; it will expire');
  }
}
