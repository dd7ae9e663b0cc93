// Human-readable bytes, rates and durations.

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Three digits and a decimal unit: `12.3 MB`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  // 999.5 would be rounded to 1000.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1_000;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : digits(value)} ${UNITS[unit]}`;
}

/** `0.42`, `4.2`, `42`: only as many digits as are significant. */
export function digits(value: number): string {
  if (value >= 99.5) return value.toFixed(0);
  return value >= 9.95 ? value.toFixed(1) : value.toFixed(value === 0 ? 0 : 2);
}

/** The two largest units: `4 s`, `1 m 10 s`, `3 h 5 m`, `2 d 4 h`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
  const hours = Math.round(whole / 3_600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
