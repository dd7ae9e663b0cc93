// Joins several lists of problems: those of datasets come first, then those of the services. Each has its own database.

import type { Problem, ProblemCause, ProblemLane, ProblemList, ProblemPlace } from '../../engine/ports/problems.ts';
import type { Clock } from '../../engine/runtime/time.ts';

export class ProblemLists implements ProblemList {
  readonly #lists: readonly ProblemList[];
  readonly #clock: Clock;

  constructor(lists: readonly ProblemList[], clock: Clock) {
    this.#lists = lists;
    this.#clock = clock;
  }

  page: ProblemList['page'] = async (filter, { limit, after }, signal) => {
    const problems: Problem[] = [];
    const first = after?.list ?? 0;
    for (const [at, list] of this.#lists.entries()) {
      if (at < first) continue;
      if (problems.length >= limit) return { problems, next: this.#begin(at, after) };
      const begin = at === first ? after : undefined;
      const page = await list.page(
        filter,
        { limit: limit - problems.length, ...(begin ? { after: begin } : {}) },
        signal,
      );
      problems.push(...page.problems);
      if (page.next) return { problems, next: { ...page.next, list: at } };
    }
    return { problems, next: undefined };
  };

  causes: ProblemList['causes'] = async (filter, limit, signal) => {
    const causes: ProblemCause[] = [];
    for (const list of this.#lists) causes.push(...(await list.causes(filter, limit, signal)));
    return causes.sort((a, b) => b.count - a.count).slice(0, limit);
  };

  counts: ProblemList['counts'] = async (filter, signal) => {
    const counts = new Map<ProblemLane, number>();
    for (const list of this.#lists)
      for (const [lane, count] of await list.counts(filter, signal)) counts.set(lane, (counts.get(lane) ?? 0) + count);
    return counts;
  };

  /** The place before the first problem of a list. */
  #begin(list: number, after: ProblemPlace | undefined): ProblemPlace {
    return { list, until: after?.until ?? String(this.#clock.now() * 1_000), since: '0', id: '' };
  }
}
