// Mutants that change nothing that a user or a caller could notice, each with the reason (equivalent.json). They are
// known by the text of their line: numbers of lines move.

import { type Mutant, shown } from './mutants.ts';

export interface Equivalent {
  readonly file: string;
  /** The source line on which the change begins, trimmed. */
  readonly line: string;
  readonly kind: string;
  /** As a report shows them. */
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

export class Equivalents {
  readonly #byKey: ReadonlyMap<string, Equivalent>;

  constructor(entries: readonly Equivalent[]) {
    this.#byKey = new Map(entries.map((entry) => [keyOf(entry), entry]));
  }

  reasonOf(mutant: Mutant): string | undefined {
    return this.#byKey.get(keyOf(entryOf(mutant)))?.reason;
  }

  get files(): readonly string[] {
    return [...new Set([...this.#byKey.values()].map(({ file }) => file))];
  }

  /** Entries that none of these is: the source has changed. `mutants` are all of `files`. */
  stale(mutants: readonly Mutant[]): readonly Equivalent[] {
    const there = new Set(mutants.map((mutant) => keyOf(entryOf(mutant))));
    return [...this.#byKey].filter(([key]) => !there.has(key)).map(([, entry]) => entry);
  }
}

/** What equivalent.json has of a mutant, but for the reason. */
export const entryOf = ({ file, text, kind, before, after }: Mutant): Omit<Equivalent, 'reason'> => ({
  ...{ file, line: text, kind },
  ...{ before: shown(before), after: shown(after) },
});

const keyOf = ({ file, line, kind, before, after }: Omit<Equivalent, 'reason'>): string =>
  JSON.stringify([file, line, kind, before, after]);
