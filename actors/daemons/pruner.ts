// The pruner enqueues expired datasets on the hardDelete lane, page by page.
//   deleted      delete-flag older than the cutoff, and uninstalled everywhere -> pruning, the point of no return
//   pruning      enqueued again, in case its job was lost
//   superseded   revised-flag older than the cutoff, and not trimmed yet -> trimmed
// If a dataset's state cannot be determined, this run skips it and the next run checks it again. A dataset that fails does not
// block the others.

import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import type { DatasetIndex, RetiredDataset, RetiredState } from '../../engine/ports/catalog.ts';
import type { EventLog } from '../../engine/ports/event-log.ts';
import type { Jobs } from '../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { PrunerReport, PrunerRun, PrunerSkip } from '../../engine/ports/process-control.ts';
import { kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { isUninstalled } from '../dataset/dataset-versions.ts';
import type { InstallTargets } from '../dataset/site-targets.ts';
import { JobBatch } from '../jobs/job-batch.ts';

export interface PrunerPorts {
  readonly store: ObjectStore;
  readonly index: Pick<DatasetIndex, 'retired' | 'beginPruning'>;
  /** Enabled targets only. */
  readonly targets: InstallTargets;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly events: Pick<EventLog, 'nextEventId'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

type Decision = 'prune' | 'trim' | PrunerSkip;
type Result = 'pruned' | 'trimmed' | 'skipped' | 'failed';
type Draft = { -readonly [Key in keyof PrunerRun]: PrunerRun[Key] };

const PAGE = 200;
/** `pruning` first: datasets that enter `pruning` in this run must not be processed again by it. */
const STATES: readonly RetiredState[] = ['pruning', 'deleted', 'superseded'];
const RESULTS: readonly Result[] = ['pruned', 'trimmed', 'skipped', 'failed'];

export class Pruner {
  readonly #ports: PrunerPorts;
  readonly #log: Logger;
  readonly #count: (result: Result) => void;
  #current: PrunerRun | undefined;
  #lastReport: PrunerReport | undefined;

  constructor(ports: PrunerPorts) {
    this.#ports = ports;
    this.#log = ports.log.child({ actor: 'pruner' });
    const help = 'Retired datasets seen by pruner runs, by result.';
    const datasets = ports.metrics.counter('pruner_datasets_total', help, ['result']);
    // Start at zero so that the first increment is visible as an increase.
    for (const result of RESULTS) datasets.inc({ result }, 0);
    this.#count = (result) => datasets.inc({ result });
  }

  /** The run in progress. */
  get current(): PrunerRun | undefined {
    return this.#current;
  }

  get lastReport(): PrunerReport | undefined {
    return this.#lastReport;
  }

  /**
   * One run. Its report is kept even if the run fails.
   * @param cutoff a dataset is due if its flag is older than this
   */
  async runOnce(cutoff: Date, signal: AbortSignal): Promise<PrunerReport> {
    const draft: Draft = {
      ...{ startedAt: new Date(this.#ports.clock.now()), cutoff, failure: undefined },
      ...{ pruned: 0, trimmed: 0, skipped: {}, failures: 0 },
    };
    this.#current = draft;
    try {
      await this.#run(draft, signal);
      return this.#end(draft);
    } catch (error) {
      draft.failure = messageOf(error);
      this.#end(draft);
      throw error;
    }
  }

  async #run(draft: Draft, signal: AbortSignal): Promise<void> {
    // An unavailable store must not look as if the datasets had no flags.
    await this.#ports.store.probe(signal);
    const away = new Set<TargetId>();
    for (const state of STATES)
      for await (const page of this.#pages(state, signal)) await this.#work(page, draft, away, signal);
  }

  #end(draft: Draft): PrunerReport {
    const report = { ...draft, endedAt: new Date(this.#ports.clock.now()) };
    this.#current = undefined;
    this.#lastReport = report;
    const { startedAt: _from, ...found } = draft;
    this.#log.info(found, 'pruner run ended');
    return report;
  }

  async *#pages(state: RetiredState, signal: AbortSignal): AsyncGenerator<readonly RetiredDataset[], void, undefined> {
    for (let after: DatasetId | undefined; ; ) {
      const page = await this.#ports.index.retired(state, after, PAGE, signal);
      yield page;
      after = page.at(-1)?.dataset;
      if (page.length < PAGE) return;
    }
  }

  async #work(page: readonly RetiredDataset[], draft: Draft, away: Set<TargetId>, signal: AbortSignal): Promise<void> {
    const batch = new JobBatch(this.#ports, 'hardDelete', 'pruner', signal);
    const found: (Decision | undefined)[] = [];
    for (const dataset of page) found.push(await this.#decide(dataset, draft, away, signal));
    // One statement for all, because each commit costs a write to disk.
    const due = page.flatMap(({ state, dataset }, i) => (state === 'deleted' && found[i] === 'prune' ? [dataset] : []));
    const begun = due.length > 0 ? await this.#ports.index.beginPruning(due, signal) : new Map<DatasetId, never>();
    const kept = new Map<DatasetId, Decision>();
    for (const dataset of due) {
      const result = begun.get(dataset);
      if (result !== 'begun') kept.set(dataset, result ?? 'undeleted');
    }
    for (const [i, dataset] of page.entries()) {
      const decision = kept.get(dataset.dataset) ?? found[i];
      if (decision === undefined) continue;
      if (decision !== 'prune' && decision !== 'trim') {
        draft.skipped = { ...draft.skipped, [decision]: (draft.skipped[decision] ?? 0) + 1 };
        this.#count('skipped');
        this.#log.debug({ dataset: dataset.dataset, owner: dataset.owner, why: decision }, 'not pruned');
        continue;
      }
      await batch.add(dataset);
      if (decision === 'prune') draft.pruned++;
      else draft.trimmed++;
      this.#count(decision === 'prune' ? 'pruned' : 'trimmed');
    }
    await batch.flush();
  }

  /** Undefined when the decision failed; the failure is counted and logged. */
  async #decide(
    dataset: RetiredDataset,
    draft: Draft,
    away: Set<TargetId>,
    signal: AbortSignal,
  ): Promise<Decision | undefined> {
    try {
      switch (dataset.state) {
        case 'pruning':
          return 'prune';
        case 'deleted':
          return await this.#deleted(dataset, draft.cutoff, away, signal);
        case 'superseded':
          return await this.#superseded(dataset, draft.cutoff, signal);
        default:
          return dataset.state satisfies never;
      }
    } catch (error) {
      // A transient failure affects all the other datasets too, and an abort means that we stop.
      if (signal.aborted || kindOf(error) === 'aborted' || kindOf(error) === 'transient') throw error;
      draft.failures++;
      this.#count('failed');
      const about = { dataset: dataset.dataset, owner: dataset.owner, kind: kindOf(error), err: messageOf(error) };
      this.#log.error(about, 'a dataset could not be pruned');
      return undefined;
    }
  }

  async #deleted(dataset: RetiredDataset, cutoff: Date, away: Set<TargetId>, signal: AbortSignal): Promise<Decision> {
    const age = await this.#age(dataset, 'delete-flag', cutoff, signal);
    if (age !== 'due') return age;
    for (const id of dataset.installTargets) {
      const left = await this.#leftOn(id, dataset.dataset, away, signal);
      if (left) return left;
    }
    return 'prune';
  }

  async #superseded(dataset: RetiredDataset, cutoff: Date, signal: AbortSignal): Promise<Decision> {
    const age = await this.#age(dataset, 'revised-flag', cutoff, signal);
    if (age !== 'due') return age;
    const data = await this.#ports.store.head(objectKey(dataset, 'install-ready.zip'), signal);
    return data ? 'trim' : 'trimmed-before';
  }

  async #age(
    dataset: RetiredDataset,
    flag: 'delete-flag' | 'revised-flag',
    cutoff: Date,
    signal: AbortSignal,
  ): Promise<'due' | 'no-flag' | 'too-young'> {
    const info = await this.#ports.store.head(objectKey(dataset, flag), signal);
    if (!info) return 'no-flag';
    return info.modified.getTime() < cutoff.getTime() ? 'due' : 'too-young';
  }

  /** Why the dataset may still be on that target. Undefined when it is not. */
  async #leftOn(
    id: TargetId,
    dataset: DatasetId,
    away: Set<TargetId>,
    signal: AbortSignal,
  ): Promise<PrunerSkip | undefined> {
    const target = this.#ports.targets.get(id);
    if (!target) return 'target-disabled';
    if (away.has(id)) return 'target-away';
    try {
      return isUninstalled(await target.state(dataset, signal)) ? undefined : 'not-uninstalled';
    } catch (error) {
      if (signal.aborted || kindOf(error) !== 'transient') throw error;
      // Remembered for the run: every call to an unavailable target costs its timeout.
      away.add(id);
      this.#log.warn(
        { target: id, err: messageOf(error) },
        'an install target is unavailable; its datasets are not pruned',
      );
      return 'target-away';
    }
  }
}
