// Durations as text (config/REFERENCE.md). This is the only place that parses them into milliseconds. Two spellings:
//   numbers with units, in descending order, each unit at most once: `90s`, `1h30m`, `1d 12h`, `1.5 hours`, `5 minutes`
//   ISO 8601: `PT1H30M`, `P1DT12H`, `P2W`; without years and months, whose length varies

const NUMBER = '(\\d{1,15}(?:\\.\\d{1,9})?)';

/** From the longest to the shortest, with the nanoseconds of one. */
const UNITS = [
  ['w', 'w|wks?|weeks?', 604_800_000_000_000n],
  ['d', 'd|days?', 86_400_000_000_000n],
  ['h', 'h|hrs?|hours?', 3_600_000_000_000n],
  ['m', 'm|mins?|minutes?', 60_000_000_000n],
  ['s', 's|secs?|seconds?', 1_000_000_000n],
  ['ms', 'ms|msecs?|millis|milliseconds?', 1_000_000n],
  ['us', 'us|µs|μs|microseconds?', 1_000n],
  ['ns', 'ns|nanoseconds?', 1n],
] as const;

const WORDS = `(?=.*\\S$)${UNITS.map(([, names]) => `(?:${NUMBER} *(?:${names}) *)?`).join('')}`;
const [WEEKS, DAYS, HOURS, MINUTES, SECONDS] = ['W', 'D', 'H', 'M', 'S'].map((unit) => `(?:${NUMBER}${unit})?`);
const ISO = `P(?=\\d|T\\d)${WEEKS}${DAYS}(?:T(?=\\d)${HOURS}${MINUTES}${SECONDS})?`;

/** Accepts exactly the texts that the loader accepts, so that editors report the same errors. */
export const DURATION_PATTERN = `^(?:${WORDS}|${ISO})$`;

const NS_PER_MS = 1_000_000n;
const DURATION = new RegExp(DURATION_PATTERN);

/** Milliseconds (with a fraction below 1 ms), or undefined when the text is not a duration or is beyond 2^53 ms. */
export function parseDuration(text: string): number | undefined {
  const groups = DURATION.exec(text)?.slice(1);
  if (!groups) return undefined;
  let total = 0n;
  // The units of ISO 8601 are the longest five, and their groups come last.
  for (const [i, count] of groups.entries()) total += nanoseconds(count ?? '0', UNITS[i % UNITS.length]?.[2] ?? 0n);
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
  for (const [unit, , ns] of UNITS) {
    if (unit === 'w') continue;
    if (rest >= ns) groups.push(`${rest / ns}${unit}`);
    rest %= ns;
  }
  return groups.join(' ') || '0s';
}

function nanoseconds(count: string, unit: bigint): bigint {
  const [whole = '0', fraction = ''] = count.split('.');
  return BigInt(whole) * unit + (BigInt(fraction.padEnd(9, '0')) * unit) / 1_000_000_000n;
}
