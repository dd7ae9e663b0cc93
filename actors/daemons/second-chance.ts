// Retries or discards problems when an administrator orders it: single ones, or all that match a filter. Each batch is one
// transaction. Failed installs also have a status on their target, so each is cleared under its dataset's lease.

import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import {
  type DiscardNote,
  type Problem,
  type ProblemKey,
  type ProblemOrder,
  type ProblemOutcome,
  type ProblemReport,
  type ProblemSkip,
  type Problems,
  SERVICE_LANES,
  type SecondChances,
  type ServiceLane,
  type ServiceProblems,
} from '../../engine/ports/problems.ts';
import { kindOf } from '../../engine/runtime/failure.ts';
import { inParallel } from '../dataset/site-targets.ts';
import { type ClearPorts, clearDataset } from './clear-dataset.ts';
import { ProblemLists } from './problem-lists.ts';

interface SecondChancePorts extends ClearPorts {
  readonly problems: Omit<Problems, 'discards'>;
  /** The services that run in this process. */
  readonly services?: Readonly<Partial<Record<ServiceLane, ServiceProblems | undefined>>>;
}

const BATCH = 200;
/** Each queries a control database. */
const DATASETS_AT_ONCE = 4;

type Outcomes = ReadonlyMap<Problem, readonly ProblemOutcome[]>;
type DatasetProblem = Problem & ProblemKey;
type Tally = {
  problems: number;
  done: number;
  readonly skipped: Partial<Record<ProblemSkip, number>>;
};

export class SecondChance implements SecondChances {
  readonly #ports: SecondChancePorts;
  readonly #lists: ProblemLists;

  constructor(ports: SecondChancePorts) {
    this.#ports = ports;
    this.#lists = new ProblemLists({ datasets: ports.problems, ...ports.services }, ports.clock);
  }

  page: SecondChances['page'] = (...args) => this.#lists.page(...args);
  causes: SecondChances['causes'] = (...args) => this.#lists.causes(...args);
  counts: SecondChances['counts'] = (...args) => this.#lists.counts(...args);

  async retry(order: ProblemOrder, signal: AbortSignal): Promise<ProblemReport> {
    const { problems, events } = this.#ports;
    const report = await this.#follow(order, signal, async (batch) => {
      const ofDatasets = batch.filter(isOfDataset);
      const installs = ofDatasets.filter(({ target }) => target !== undefined);
      const others = ofDatasets.filter(({ target }) => target === undefined);
      const outcomes = others.length > 0 ? await problems.retry(others, await events.nextEventId(signal), signal) : [];
      return new Map([
        ...outcomesOf(others, outcomes),
        ...(await this.#clear(installs, signal)),
        ...(await this.#inServices(batch, (service, ids) => service.retry(ids, signal))),
      ]);
    });
    this.#ports.log.info({ lanes: report.lanes }, 'problems retried');
    return report;
  }

  async discard(order: ProblemOrder, note: DiscardNote, signal: AbortSignal): Promise<ProblemReport> {
    const report = await this.#follow(order, signal, async (batch) => {
      const ofDatasets = batch.filter(isOfDataset);
      const outcomes = ofDatasets.length > 0 ? await this.#ports.problems.discard(ofDatasets, note, signal) : [];
      return new Map([
        ...outcomesOf(ofDatasets, outcomes),
        ...(await this.#inServices(batch, (service, ids) => service.discard(ids, signal))),
      ]);
    });
    this.#ports.log.info({ lanes: report.lanes, by: note.by, reason: note.reason }, 'problems discarded');
    return report;
  }

  async #inServices(
    batch: readonly Problem[],
    change: (service: ServiceProblems, ids: readonly string[]) => Promise<readonly ProblemOutcome[]>,
  ): Promise<Outcomes> {
    const outcomes: (readonly [Problem, readonly ProblemOutcome[]])[] = [];
    for (const lane of SERVICE_LANES) {
      const service = this.#ports.services?.[lane];
      const own = batch.filter((problem) => problem.lane === lane);
      if (!service || own.length === 0) continue;
      outcomes.push(
        ...outcomesOf(
          own,
          await change(
            service,
            own.map(({ id }) => id),
          ),
        ),
      );
    }
    return new Map(outcomes);
  }

  async #follow(
    { filter, after, limit }: ProblemOrder,
    signal: AbortSignal,
    handle: (batch: readonly Problem[]) => Promise<Outcomes>,
  ): Promise<ProblemReport> {
    const tallies = new Map<Problem['lane'], Tally>();
    let next = after;
    for (let left = limit; left > 0; ) {
      const page = await this.#lists.page(
        filter,
        { limit: Math.min(left, BATCH), ...(next ? { after: next } : {}) },
        signal,
      );
      for (const [{ lane }, outcomes] of await handle(page.problems)) {
        const tally = tallies.get(lane) ?? { problems: 0, done: 0, skipped: {} };
        tallies.set(lane, tally);
        for (const outcome of outcomes) count(tally, outcome);
      }
      left -= page.problems.length;
      next = page.next;
      if (!next) break;
    }
    return { lanes: [...tallies].map(([lane, tally]) => ({ lane, ...tally })), next };
  }

  /** The installs of one dataset and kind are cleared together. Their outcomes are listed under the first of them. */
  async #clear(installs: readonly DatasetProblem[], signal: AbortSignal): Promise<Outcomes> {
    const groups = [...Map.groupBy(installs, ({ lane, dataset }) => `${lane} ${dataset}`).values()];
    const cleared = await inParallel(groups, DATASETS_AT_ONCE, async (group) => {
      const [first] = group;
      if (!first) return [];
      const targets = new Set(group.flatMap(({ target }) => target ?? []));
      const outcomes = await this.#clearOne(first.dataset, first.lane, targets, signal);
      return [[first, padded(outcomes, targets.size)] as const];
    });
    return new Map(cleared.flat());
  }

  async #clearOne(
    dataset: DatasetId,
    lane: Problem['lane'],
    targets: ReadonlySet<TargetId>,
    signal: AbortSignal,
  ): Promise<readonly ProblemOutcome[]> {
    const kind = lane === 'install' ? 'data' : 'meta';
    try {
      const { cleared, skipped } = await clearDataset(
        dataset,
        (install) => install.kind === kind && targets.has(install.target),
        true,
        this.#ports,
        signal,
      );
      return [...Array.from({ length: cleared }, () => 'done' as const), ...skipped];
    } catch (error) {
      if (kindOf(error) === 'aborted' || signal.aborted) throw error;
      this.#ports.log.warn({ dataset, lane, err: error }, 'the failed installs of a dataset could not be retried');
      return Array.from({ length: targets.size }, () => 'error' as const);
    }
  }
}

const isOfDataset = (problem: Problem): problem is DatasetProblem => problem.dataset !== undefined;

const outcomesOf = (batch: readonly Problem[], outcomes: readonly ProblemOutcome[]): Outcomes =>
  new Map(batch.map((problem, i) => [problem, outcomes.slice(i, i + 1)]));

/** One outcome for each install. Those that the clearing did not find no longer count as failed. */
const padded = (outcomes: readonly ProblemOutcome[], size: number): readonly ProblemOutcome[] =>
  Array.from({ length: size }, (_, i) => outcomes[i] ?? 'not-failed');

function count(tally: Tally, outcome: ProblemOutcome): void {
  tally.problems++;
  if (outcome === 'done') tally.done++;
  else tally.skipped[outcome] = (tally.skipped[outcome] ?? 0) + 1;
}
