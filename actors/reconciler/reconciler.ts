// The reconciler compares a listing of the object store with the cache and, in a full run, with every install target. It
// enqueues datasets that differ.
//   part          a slim run that nobody ordered compares only a part of the store (slim-part.ts), and the datasets elsewhere
//                 that the cache says are unfinished while no job is there to finish them
//   first pass    datasets that need work -> reconciliation lane; datasets missing from the listing are counted
//   brake         the listing is not trusted (reconciler-tally.ts): nothing is deleted, and the report says why
//   second pass   full runs only, after the whole first pass succeeded: each dataset that is missing again is looked up
//                 individually, then enqueued on the hardDelete lane, which checks once more
// A failure or the loss of the lead ends the run; the jobs enqueued until then run all the same.

import type { DataTypes } from '../../engine/model/data-types.ts';
import type { EventSource } from '../../engine/model/event.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { DatasetIndex, TargetIndex } from '../../engine/ports/catalog.ts';
import type { EventLog } from '../../engine/ports/event-log.ts';
import type { Jobs } from '../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { ReconcilerReport, ReconcilerRun, ReconcilerRunKind } from '../../engine/ports/process-control.ts';
import type { SlimPasses } from '../../engine/ports/slim-passes.ts';
import { kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { inParallel } from '../dataset/site-targets.ts';
import { storedDataset } from '../dataset/stored-dataset.ts';
import { readMetadata } from '../dataset/stored-documents.ts';
import { JobBatch } from '../jobs/job-batch.ts';
import { keysAfter, type MergedDataset, mergeInStoreOrder } from './merge-in-store-order.ts';
import { type DecisionContext, decide } from './reconciler-decision.ts';
import { type ReconcilerCounter, ReconcilerTally, reconcilerMetrics } from './reconciler-tally.ts';
import { forgottenElsewhere, nextPart, passAfter, type SlimPace, wholeStore } from './slim-part.ts';

export interface ReconcilerPorts {
  readonly store: ObjectStore;
  readonly index: Pick<DatasetIndex, 'page' | 'forgotten'>;
  readonly slimPasses: SlimPasses;
  /** Of the enabled install targets, each in one of them. */
  readonly targetIndexes: readonly TargetIndex[];
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly events: Pick<EventLog, 'nextEventId'>;
  readonly types: DataTypes;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface ReconcilerOrder {
  readonly kind: ReconcilerRunKind;
  /** Whether the run may delete anything. */
  readonly performDeletes: boolean;
  /** Delete even if the brake says no. */
  readonly allowDeletes: boolean;
  /** Of a slim run that compares the next part of the store; absent: the run compares the whole store. */
  readonly pace?: SlimPace;
}

type Draft = { -readonly [Key in keyof ReconcilerRun]: ReconcilerRun[Key] };

/** Concurrent reads or listings. */
const READS_AT_ONCE = 8;
/** How many malformed datasets one run names in the log. */
const NAMED = 20;

export class Reconciler {
  readonly #ports: ReconcilerPorts;
  readonly #log: Logger;
  readonly #metrics: ReconcilerCounter;
  #current: ReconcilerRun | undefined;
  #lastReport: ReconcilerReport | undefined;

  constructor(ports: ReconcilerPorts) {
    this.#ports = ports;
    this.#log = ports.log.child({ actor: 'reconciler' });
    this.#metrics = reconcilerMetrics(ports.metrics);
  }

  /** The run in progress. */
  get current(): ReconcilerRun | undefined {
    return this.#current;
  }

  get lastReport(): ReconcilerReport | undefined {
    return this.#lastReport;
  }

  /** One run. Its report is kept even if the run fails. */
  async runOnce(order: ReconcilerOrder, signal: AbortSignal): Promise<ReconcilerReport> {
    const draft: Draft = {
      ...{ kind: order.kind, startedAt: new Date(this.#ports.clock.now()), listed: 0, malformed: 0, reconciled: 0 },
      ...{ wouldDelete: {}, deleted: 0, spared: 0, leftOut: [], braked: undefined, failure: undefined },
    };
    this.#current = draft;
    try {
      await this.#run(order, draft, signal);
      return this.#end(draft);
    } catch (error) {
      draft.failure = messageOf(error);
      this.#end(draft);
      throw error;
    }
  }

  #end(draft: Draft): ReconcilerReport {
    const report = { ...draft, endedAt: new Date(this.#ports.clock.now()) };
    this.#current = undefined;
    this.#lastReport = report;
    const { kind, startedAt: _from, ...found } = draft;
    this.#log.info({ run: kind, ...found }, 'reconciler run ended');
    return report;
  }

  async #run(order: ReconcilerOrder, draft: Draft, signal: AbortSignal): Promise<void> {
    // An unavailable store must not look empty.
    await this.#ports.store.probe(signal);
    const targets = new Set(order.kind === 'full' ? this.#ports.targetIndexes : []);
    const first = await this.#compare(order, targets, draft, signal);
    if (order.kind === 'slim') return;
    draft.wouldDelete = first.absent;
    draft.braked = order.allowDeletes ? undefined : first.brake();
    this.#metrics.braked(draft.braked !== undefined);
    if (draft.braked !== undefined)
      this.#log.error({ why: draft.braked }, 'datasets are missing from the object store; nothing is deleted');
    else if (first.anyAbsent && order.performDeletes) await this.#delete(first, targets, draft, signal);
  }

  async #compare(
    { kind, pace }: ReconcilerOrder,
    targets: Set<TargetIndex>,
    draft: Draft,
    signal: AbortSignal,
  ): Promise<ReconcilerTally> {
    const { clock, slimPasses, types } = this.#ports;
    const now = clock.now();
    const part = pace ? nextPart(await slimPasses.load(signal), pace, now) : wholeStore(now);
    const tally = new ReconcilerTally(targetsOf(targets));
    // Datasets whose metadata must be read first are collected separately.
    const batch = this.#batch('reconciliation', `${kind}-reconciler`, signal);
    const unread: DatasetAddress[] = [];
    const read = async (): Promise<void> => {
      const verdicts = await this.#readable(unread, signal);
      for (const [i, at] of unread.splice(0).entries()) {
        if (verdicts[i] === 'readable') await batch.add(at);
        else if (verdicts[i] === 'malformed') this.#malformed(at, draft);
      }
    };
    const judge = async (merged: readonly MergedDataset[], context: DecisionContext): Promise<void> => {
      for (const one of merged) {
        const verdict = decide(one, context);
        tally.add(one, verdict.kind === 'absent');
        if (verdict.kind === 'in-sync') continue;
        if (verdict.kind === 'malformed') this.#malformed(one, draft);
        if (verdict.kind === 'absent' && kind === 'full') this.#metrics.count('absent', 1);
        if (verdict.kind !== 'reconcile') continue;
        this.#log.debug({ dataset: one.dataset, owner: one.owner, why: verdict.reason }, 'not in sync');
        if (!verdict.newMetadata) await batch.add(kept(one));
        else if (unread.push(kept(one)) >= batch.size) await read();
      }
      this.#tell(draft, tally, batch);
    };
    let compared = 0;
    let last: DatasetAddress | undefined;
    try {
      for await (const merged of this.#merge(targets, tally, draft, signal, part.pass.after)) {
        const some = merged.slice(0, part.limit - compared);
        await judge(some, { now, types, full: kind === 'full' });
        compared += some.length;
        last = compared < part.limit ? undefined : some.at(-1);
        if (last) break;
      }
      // No job will continue them, so they are as urgent as in a full run.
      for await (const forgotten of forgottenElsewhere(this.#ports, { after: part.pass.after, last }, signal))
        await judge(forgotten, { now, types, full: true });
      await read();
      await batch.flush();
    } finally {
      this.#tell(draft, tally, batch);
      this.#metrics.count('reconciled', batch.handedOver);
    }
    await slimPasses.save(passAfter(part, compared, last && kept(last), now), signal);
    return tally;
  }

  /** Updates the progress in the report and the metrics. */
  #tell(draft: Draft, { listed }: ReconcilerTally, { handedOver }: JobBatch): void {
    this.#metrics.count('listed', listed - draft.listed);
    draft.listed = listed;
    draft.reconciled = handedOver;
  }

  async #delete(first: ReconcilerTally, targets: Set<TargetIndex>, draft: Draft, signal: AbortSignal): Promise<void> {
    const tally = new ReconcilerTally(targetsOf(targets));
    const context = { now: this.#ports.clock.now(), types: this.#ports.types, full: true };
    const batch = this.#batch('hardDelete', 'full-reconciler', signal);
    const candidates: DatasetAddress[] = [];
    const handOver = async (): Promise<void> => {
      const there = await this.#thereAfterAll(candidates, signal);
      for (const [i, at] of candidates.splice(0).entries()) {
        if (there[i]) this.#spare(at, draft);
        else await batch.add(at);
      }
    };
    try {
      merging: for await (const merged of this.#merge(targets, tally, draft, signal))
        for (const one of merged) {
          const absent = decide(one, context).kind === 'absent';
          tally.add(one, absent);
          if (!absent) continue;
          draft.braked = tally.exceeds(first);
          if (draft.braked !== undefined) break merging;
          if (candidates.push(kept(one)) >= batch.size) await handOver();
        }
      if (draft.braked === undefined) {
        await handOver();
        await batch.flush();
      } else {
        this.#metrics.braked(true);
        this.#log.error({ why: draft.braked }, 'datasets are missing from the object store; no more are deleted');
      }
    } finally {
      draft.deleted = batch.handedOver;
      this.#metrics.count('deleted', batch.handedOver);
    }
  }

  #merge(
    targets: Set<TargetIndex>,
    tally: ReconcilerTally,
    draft: Draft,
    signal: AbortSignal,
    after?: DatasetAddress,
  ): AsyncIterable<readonly MergedDataset[]> {
    const { store, index } = this.#ports;
    const leaveOut = (left: TargetIndex, error: unknown): void => {
      targets.delete(left);
      const level = kindOf(error) === 'transient' ? 'warn' : 'error';
      for (const target of left.targets) {
        tally.leaveOut(target);
        draft.leftOut = [...draft.leftOut, { target, reason: messageOf(error) }];
        this.#log[level]({ target, err: messageOf(error) }, 'an install target is skipped in this run');
      }
    };
    const onStray = (key: string): void => this.#log.debug({ key }, 'object belongs to no dataset');
    const stored = store.pages('', after ? { after: keysAfter(after) } : {}, signal);
    const sources = { stored, after, cache: index, targets, onStray };
    return mergeInStoreOrder(sources, leaveOut, signal);
  }

  #batch(lane: 'reconciliation' | 'hardDelete', source: EventSource, signal: AbortSignal): JobBatch {
    return new JobBatch(this.#ports, lane, source, signal);
  }

  /** Whether each dataset's metadata can be parsed. `gone` when they were removed in the meantime, which has its own event. */
  #readable(
    datasets: readonly DatasetAddress[],
    signal: AbortSignal,
  ): Promise<readonly ('readable' | 'malformed' | 'gone')[]> {
    return inParallel(datasets, READS_AT_ONCE, async (at) => {
      try {
        return (await readMetadata(this.#ports.store, at, signal)) ? 'readable' : 'gone';
      } catch (error) {
        if (kindOf(error) !== 'rejected') throw error;
        return 'malformed';
      }
    });
  }

  #thereAfterAll(datasets: readonly DatasetAddress[], signal: AbortSignal): Promise<readonly boolean[]> {
    return inParallel(
      datasets,
      READS_AT_ONCE,
      async (at) => (await storedDataset(this.#ports.store, at, signal)) !== undefined,
    );
  }

  #malformed({ owner, dataset }: DatasetAddress, draft: Draft): void {
    draft.malformed++;
    this.#metrics.count('malformed', 1);
    if (draft.malformed <= NAMED)
      this.#log.warn({ owner, dataset }, 'a dataset without readable metadata is left unchanged');
  }

  #spare({ owner, dataset }: DatasetAddress, draft: Draft): void {
    draft.spared++;
    this.#metrics.count('spared', 1);
    this.#log.error({ owner, dataset }, 'the listing of the object store omits a dataset that exists');
  }
}

const targetsOf = (indexes: Iterable<TargetIndex>): readonly TargetId[] =>
  Array.from(indexes, ({ targets }) => targets).flat();

/** Copies the strings: those of the streams are slices of a whole page's text and would keep the page in memory. */
const kept = ({ owner, dataset }: DatasetAddress): DatasetAddress => ({
  owner: copyOf(owner),
  dataset: copyOf(dataset),
});
const copyOf = <Text extends string>(text: Text): Text => Buffer.from(text).toString() as Text;
