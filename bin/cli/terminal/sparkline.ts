// A curve in one line of text, scaled to its largest value.

const LEVELS = '▁▂▃▄▅▆▇█';

/** Values must not be negative. Null becomes a blank. */
export function sparkline(values: readonly (number | null)[]): string {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const level = (value: number): string =>
    LEVELS[most === 0 ? 0 : Math.ceil((value / most) * (LEVELS.length - 1))] ?? ' ';
  return values.map((value) => (value === null ? ' ' : level(value))).join('');
}
