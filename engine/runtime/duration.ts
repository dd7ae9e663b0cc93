// Durations as text: unit groups in descending order, separated by spaces, each unit at most once, such as
// `1d 12h 30s` or `1.5s` (config/REFERENCE.md). This is the only place that parses them into milliseconds.

/** Accepts exactly the texts that the loader accepts, so that editors report the same errors. */
export const DURATION_PATTERN =
  '^(?=.*\\S$)(?:(\\d{1,15})d(?: +|$))?(?:(\\d{1,15})h(?: +|$))?(?:(\\d{1,15})m(?: +|$))?' +
  '(?:(\\d{1,15}(?:\\.\\d{1,9})?)s(?: +|$))?(?:(\\d{1,15})ms(?: +|$))?(?:(\\d{1,15})us(?: +|$))?(?:(\\d{1,15})ns)?$';

/** Nanoseconds per unit, in the order of the groups. */
const UNITS = [
  ['d', 86_400_000_000_000n],
  ['h', 3_600_000_000_000n],
  ['m', 60_000_000_000n],
  ['s', 1_000_000_000n],
  ['ms', 1_000_000n],
  ['us', 1_000n],
  ['ns', 1n],
] as const;
const NS_PER_MS = 1_000_000n;
const DURATION = new RegExp(DURATION_PATTERN);

/** Milliseconds (with a fraction below 1 ms), or undefined when the text is not a duration or is beyond 2^53 ms. */
export function parseDuration(text: string): number | undefined {
  const groups = DURATION.exec(text)?.slice(1);
  if (!groups) return undefined;
  let total = 0n;
  for (const [i, [, ns]] of UNITS.entries()) total += nanoseconds(groups[i] ?? '0', ns);
  // One exact division; beyond 2^53 ns (104 days) fractions of a millisecond may be off in the last bit.
  const ms =
    total <= BigInt(Number.MAX_SAFE_INTEGER)
      ? Number(total) / Number(NS_PER_MS)
      : Number(total / NS_PER_MS) + Number(total % NS_PER_MS) / Number(NS_PER_MS);
  return ms <= Number.MAX_SAFE_INTEGER ? ms : undefined;
}

/** The shortest text that {@link parseDuration} reads back as `ms`; `ms` is not negative. */
export function formatDuration(ms: number): string {
  const whole = Math.trunc(ms);
  let rest = BigInt(whole) * NS_PER_MS + BigInt(Math.round((ms - whole) * Number(NS_PER_MS)));
  const groups: string[] = [];
  for (const [unit, ns] of UNITS) {
    if (rest >= ns) groups.push(`${rest / ns}${unit}`);
    rest %= ns;
  }
  return groups.join(' ') || '0s';
}

function nanoseconds(count: string, unit: bigint): bigint {
  const [whole = '0', fraction = ''] = count.split('.');
  return BigInt(whole) * unit + (BigInt(fraction.padEnd(9, '0')) * unit) / 1_000_000_000n;
}
