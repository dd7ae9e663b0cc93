// A curve of one line, as high as its largest value.

const LEVELS = '▁▂▃▄▅▆▇█';

/** A blank for null. Values are not negative. */
export function sparkline(values: readonly (number | null)[]): string {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const level = (value: number): string =>
    LEVELS[most === 0 ? 0 : Math.ceil((value / most) * (LEVELS.length - 1))] ?? ' ';
  return values.map((value) => (value === null ? ' ' : level(value))).join('');
}
