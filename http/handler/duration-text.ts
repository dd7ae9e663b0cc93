// Durations as this service prints them: `1m 2.345s`. Such text can be read back by engine/runtime/duration.ts.

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const;

/** @param ms 0 or more; cut to whole milliseconds */
export function durationText(ms: number): string {
  let rest = Math.trunc(ms);
  const groups: string[] = [];
  for (const [unit, length] of UNITS) {
    if (rest >= length) groups.push(`${Math.trunc(rest / length)}${unit}`);
    rest %= length;
  }
  if (rest > 0 || groups.length === 0) groups.push(`${rest / 1000}s`);
  return groups.join(' ');
}
