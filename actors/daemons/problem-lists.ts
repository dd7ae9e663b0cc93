// Joins several lists of problems: those of datasets come first, then those of the services. Each has its own database.

import {
  PROBLEM_LISTS,
  type Problem,
  type ProblemCause,
  type ProblemLane,
  type ProblemList,
  type ProblemListName,
  type ProblemPlace,
} from '../../engine/ports/problems.ts';
import type { Clock } from '../../engine/runtime/time.ts';

export class ProblemLists implements ProblemList {
  readonly #lists: readonly (readonly [ProblemListName, ProblemList])[];
  readonly #clock: Clock;

  constructor(lists: Readonly<Partial<Record<ProblemListName, ProblemList | undefined>>>, clock: Clock) {
    this.#lists = PROBLEM_LISTS.flatMap((name) => (lists[name] ? [[name, lists[name]] as const] : []));
    this.#clock = clock;
  }

  page: ProblemList['page'] = async (filter, { limit, after }, signal) => {
    const problems: Problem[] = [];
    // Another process may have begun, and its lists may be others.
    const first = after?.list ?? PROBLEM_LISTS[0];
    for (const [name, list] of this.#lists) {
      if (PROBLEM_LISTS.indexOf(name) < PROBLEM_LISTS.indexOf(first)) continue;
      const left = limit - problems.length;
      const begin = name === first ? after : undefined;
      // Whether there is another page is known only when the next list has a problem.
      const page = await list.page(filter, { limit: Math.max(left, 1), ...(begin ? { after: begin } : {}) }, signal);
      if (left <= 0 && page.problems.length > 0) return { problems, next: this.#begin(name, after) };
      problems.push(...page.problems);
      if (page.next) return { problems, next: { ...page.next, list: name } };
    }
    return { problems, next: undefined };
  };

  causes: ProblemList['causes'] = async (filter, limit, signal) => {
    const causes: ProblemCause[] = [];
    for (const [, list] of this.#lists) causes.push(...(await list.causes(filter, limit, signal)));
    return causes.sort((a, b) => b.count - a.count).slice(0, limit);
  };

  counts: ProblemList['counts'] = async (filter, signal) => {
    const counts = new Map<ProblemLane, number>();
    for (const [, list] of this.#lists)
      for (const [lane, count] of await list.counts(filter, signal)) counts.set(lane, (counts.get(lane) ?? 0) + count);
    return counts;
  };

  /** The place before the first problem of a list. */
  #begin(list: ProblemListName, after: ProblemPlace | undefined): ProblemPlace {
    return { list, until: after?.until ?? String(this.#clock.now() * 1_000), since: '0', id: '' };
  }
}
