// All mutants of a file, in an order that depends on nothing but the text.

import { isLeftAlone } from './left-alone.ts';
import { MUTATORS } from './mutators.ts';
import { parse, walk } from './syntax.ts';

export interface Mutant {
  /** From the root of the project. */
  readonly file: string;
  readonly line: number;
  readonly kind: string;
  /** Offsets in the source, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /** Runs exactly when what is changed runs. */
  readonly runsAt: number;
  /** The line it begins on, trimmed: what equivalents are known by, since numbers of lines move. */
  readonly text: string;
}

export function mutantsOf(file: string, source: string): readonly Mutant[] {
  const found: Mutant[] = [];
  walk(parse(file, source), source, (place) => {
    if (isLeftAlone(place)) return false;
    for (const [kind, mutator] of Object.entries(MUTATORS)) {
      for (const { start, end, after, runsAt = place.node.start } of mutator(place.node, place)) {
        const before = source.slice(start, end);
        if (before !== after) found.push({ file, ...lineOf(source, start), kind, start, end, before, after, runsAt });
      }
    }
    return true;
  });
  return found.sort(
    (a, b) => a.start - b.start || a.end - b.end || compare(a.kind, b.kind) || compare(a.after, b.after),
  );
}

export const mutated = (source: string, { start, end, after }: Mutant): string =>
  source.slice(0, start) + after + source.slice(end);

/** On one line, and short enough for a report. */
export function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= 100 ? line : `${line.slice(0, 97)}...`;
}

function lineOf(source: string, offset: number): { readonly line: number; readonly text: string } {
  const from = source.lastIndexOf('\n', offset - 1) + 1;
  const to = source.indexOf('\n', offset);
  return {
    line: source.slice(0, offset).split('\n').length,
    text: source.slice(from, to < 0 ? source.length : to).trim(),
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
