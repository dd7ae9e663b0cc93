// Which test files a mutant is shown to, and in which order: the nearest first, then by import distance, and of these
// only what runs the mutated place.

import type { CoverageMap } from './coverage-map.ts';
import { type ImportGraph, reachedFrom } from './import-graph.ts';
import type { Mutant } from './mutants.ts';

export interface Candidate {
  readonly test: string;
  /** Imports from the test to the mutated file; 0 when it is the file's own test by name. */
  readonly distance: number;
}

export class Selection {
  /** By test file, all that it loads. */
  readonly #reached: ReadonlyMap<string, ReadonlyMap<string, number>>;

  constructor(tests: readonly string[], graph: ImportGraph) {
    this.#reached = new Map(tests.map((test) => [test, reachedFrom(test, graph)]));
  }

  /** Files that make up the test itself: where one changes, what it runs may change. */
  partsOf(test: string): readonly string[] {
    return this.#loadedBy(test).filter((file) => file.startsWith('test/'));
  }

  /** Sources that the test may run. */
  sourcesOf(test: string): readonly string[] {
    return this.#loadedBy(test).filter((file) => !file.startsWith('test/'));
  }

  /** Test files that load `source`. */
  reaching(source: string): readonly string[] {
    return [...this.#reached].filter(([, reached]) => reached.has(source)).map(([test]) => test);
  }

  /** Test files that pass and run what is mutated, nearest first, then quickest first. */
  candidates(mutant: Mutant, map: CoverageMap): readonly Candidate[] {
    return [...this.#reached]
      .filter(([test]) => map.passes(test) && map.ranAt(test, mutant.file, mutant.runsAt))
      .map(([test, reached]) => ({ test, distance: distance(test, mutant.file, reached) }))
      .sort(
        (a, b) =>
          a.distance - b.distance || map.quickestMsOf(a.test) - map.quickestMsOf(b.test) || (a.test < b.test ? -1 : 1),
      );
  }

  #loadedBy(test: string): readonly string[] {
    return [...(this.#reached.get(test)?.keys() ?? [])];
  }
}

function distance(test: string, source: string, reached: ReadonlyMap<string, number>): number {
  // `engine/x/y.ts` has `test/engine/x/y.test.ts`, and `y-more.test.ts` beside it.
  const named = `test/${source.slice(0, -'.ts'.length)}`;
  if (test.startsWith(`${named}.`) || test.startsWith(`${named}-`)) return 0;
  // What is reached in a way that no import shows comes last.
  return reached.get(source) ?? Number.MAX_SAFE_INTEGER;
}
