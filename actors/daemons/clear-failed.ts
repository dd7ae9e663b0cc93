// Retries permanently failed installs on an administrator's order: all of them, or the named ones. The order is answered at
// once; datasets are then processed one after the other.
//
//   idle --clear--> running --the last dataset, or a failure--> idle, with a report
//   running --clear--> refused
//   not served (the process starts or stops) --clear--> `transient`; a run in progress stops at the next dataset

import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { DatasetReports, StuckStatus } from '../../engine/ports/dataset-queries.ts';
import type {
  ClearOrder,
  ClearReport,
  ClearRun,
  ClearSkip,
  FailedInstalls,
} from '../../engine/ports/process-control.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { kindOf, messageOf, transient } from '../../engine/runtime/failure.ts';
import { settledUnless } from '../../engine/runtime/wait.ts';
import { Pump } from '../events/event-router.ts';
import { type ClearedDataset, type ClearPorts, clearDataset } from './clear-dataset.ts';

interface ClearFailedPorts extends ClearPorts {
  readonly reports: Pick<DatasetReports, 'stuckInstalls'>;
}

type Tally = { -readonly [Key in keyof ClearRun]: ClearRun[Key] } & { skipped: Partial<Record<ClearSkip, number>> };

const STATUSES: readonly StuckStatus[] = ['failed-installation', 'missing-dependency'];

export class ClearFailed implements FailedInstalls {
  readonly #ports: ClearFailedPorts;
  #served = false;
  #ordered = Promise.withResolvers<ClearOrder>();
  #tally: Tally | undefined;
  #lastReport: ClearReport | undefined;

  constructor(ports: ClearFailedPorts) {
    this.#ports = ports;
  }

  get current(): ClearRun | undefined {
    return this.#tally && { ...this.#tally, skipped: { ...this.#tally.skipped } };
  }

  get lastReport(): ClearReport | undefined {
    return this.#lastReport;
  }

  clear(order: ClearOrder): 'started' | 'running' {
    if (!this.#served) throw transient('failed installs cannot be cleared now: the process is starting or stopping');
    if (this.#tally) return 'running';
    this.#tally = {
      startedAt: new Date(this.#ports.clock.now()),
      run: order.run,
      datasets: 0,
      cleared: 0,
      jobs: 0,
      skipped: {},
      failures: 0,
      failure: undefined,
    };
    this.#ordered.resolve(order);
    return 'started';
  }

  spec(): ChildSpec {
    const { clock, log } = this.#ports;
    const consume = (signal: AbortSignal): Promise<void> => this.serve(signal);
    return { name: 'clearFailed', create: () => new Pump({ name: 'clearFailed', clock, log, consume }) };
  }

  /** Executes orders until the signal aborts. Never rejects. */
  async serve(signal: AbortSignal): Promise<void> {
    this.#served = true;
    while (await settledUnless(this.#ordered.promise, signal)) {
      const order = await this.#ordered.promise;
      this.#ordered = Promise.withResolvers();
      if (this.#tally) await this.#follow(order, this.#tally, signal);
    }
    this.#served = false;
  }

  async #follow(order: ClearOrder, tally: Tally, signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#ports;
    try {
      if (order.places === 'all') await this.#clearAll(order.run, tally, signal);
      else await this.#clearPlaces(order.places, order.run, tally, signal);
    } catch (error) {
      tally.failure = signal.aborted ? 'the process is shutting down' : messageOf(error);
      if (!signal.aborted) log.warn({ err: error }, 'clearing failed installs was interrupted');
    }
    this.#lastReport = { ...tally, endedAt: new Date(clock.now()) };
    this.#tally = undefined;
    const { datasets, cleared, jobs, skipped, failures } = tally;
    log.info({ datasets, cleared, jobs, skipped, failures }, 'failed installs cleared');
  }

  async #clearAll(run: boolean, tally: Tally, signal: AbortSignal): Promise<void> {
    for (const status of STATUSES)
      for await (const { dataset } of this.#ports.reports.stuckInstalls(status, signal))
        await this.#clear(dataset, () => true, run, tally, signal);
  }

  async #clearPlaces(
    places: Exclude<ClearOrder['places'], 'all'>,
    run: boolean,
    tally: Tally,
    signal: AbortSignal,
  ): Promise<void> {
    const targets = new Map<DatasetId, Set<TargetId>>();
    for (const { dataset, target } of places) targets.set(dataset, (targets.get(dataset) ?? new Set()).add(target));
    for (const [dataset, named] of targets)
      await this.#clear(dataset, (target) => named.has(target), run, tally, signal);
  }

  async #clear(
    dataset: DatasetId,
    wanted: (target: TargetId) => boolean,
    run: boolean,
    tally: Tally,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    tally.datasets++;
    let result: ClearedDataset;
    try {
      result = await clearDataset(dataset, ({ target }) => wanted(target), run, this.#ports, signal);
    } catch (error) {
      if (kindOf(error) === 'aborted' || signal.aborted) throw error;
      tally.failures++;
      this.#ports.log.warn({ dataset, err: error }, 'the failed installs of a dataset could not be cleared');
      return;
    }
    tally.cleared += result.cleared;
    tally.jobs += result.jobs;
    for (const skip of result.skipped) tally.skipped[skip] = (tally.skipped[skip] ?? 0) + 1;
  }
}
