// What of a source ran, from V8's coverage. Types are replaced by blanks when Node loads a file, so offsets in what ran
// are offsets in the source.

/** In order, apart from each other; the end is not included. */
export type Ranges = readonly (readonly [start: number, end: number])[];

/** The part of V8's report that is used. */
export interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
  }[];
}

/** An inner range says more than the one around it. */
export function rangesOf(script: ScriptCoverage): Ranges {
  const all = script.functions.flatMap(({ ranges }) => ranges);
  const nested = [...all].sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const found: [number, number][] = [];
  const open: { endOffset: number; count: number }[] = [];
  let at = 0;
  const upTo = (offset: number): void => {
    if ((open.at(-1)?.count ?? 0) > 0 && offset > at) found.push([at, offset]);
    at = Math.max(at, offset);
  };
  const closeBefore = (offset: number): void => {
    for (let last = open.at(-1); last && last.endOffset <= offset; last = open.at(-1)) {
      upTo(last.endOffset);
      open.pop();
    }
  };
  for (const range of nested) {
    closeBefore(range.startOffset);
    upTo(range.startOffset);
    open.push(range);
  }
  closeBefore(Number.POSITIVE_INFINITY);
  return joined(found);
}

/** What ran in one or the other. */
export function joined(...several: readonly Ranges[]): Ranges {
  const found: [number, number][] = [];
  for (const [start, end] of several.flat().toSorted((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else found.push([start, end]);
  }
  return found;
}

export const isIn = (ranges: Ranges, offset: number): boolean =>
  ranges.some(([start, end]) => start <= offset && offset < end);

export const written = (ranges: Ranges): string => ranges.map(([start, end]) => `${start}-${end}`).join(',');

export function read(text: string): Ranges {
  if (text === '') return [];
  return text.split(',').map((range) => {
    const [start = 0, end = 0] = range.split('-').map(Number);
    return [start, end];
  });
}
