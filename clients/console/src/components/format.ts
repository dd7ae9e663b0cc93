// Numbers and times in words.

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** In powers of 1000, such as `1.5 GB`. */
export function bytes(count: number): string {
  const power = count < 1_000 ? 0 : Math.min(Math.floor(Math.log10(count) / 3), UNITS.length - 1);
  const value = count / 1_000 ** power;
  return `${value.toLocaleString('en', { maximumFractionDigits: value < 10 && power > 0 ? 1 : 0 })} ${UNITS[power]}`;
}

const SPANS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'long' });

/** Such as `3 hours ago`. */
export function inWords(at: Date, now: number): string {
  const seconds = (at.getTime() - now) / 1_000;
  const [unit, length] = SPANS.find(([, span]) => Math.abs(seconds) >= span) ?? ['second', 1];
  if (unit === 'second')
    return Math.abs(seconds) < 10 ? 'just now' : seconds < 0 ? 'less than a minute ago' : 'within a minute';
  return relative.format(Math.round(seconds / length), unit);
}

export const exactly = (at: Date): string => exact.format(at);

export const personName = (person: { readonly firstName: string; readonly lastName: string }): string =>
  `${person.firstName} ${person.lastName}`.trim();

/** Such as `250 ms` and `3.2 s`. */
export function milliseconds(count: number): string {
  if (count < 1_000) return `${count.toLocaleString('en', { maximumFractionDigits: count < 10 ? 1 : 0 })} ms`;
  return seconds(count / 1_000);
}

/** Such as `3.2 s`, `5 min` and `2 h 10 min`. */
export function seconds(count: number): string {
  if (count < 60) return `${count.toLocaleString('en', { maximumFractionDigits: count < 10 ? 1 : 0 })} s`;
  const minutes = Math.round(count / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Such as `3 min 20 s`; of long times only the larger parts. */
export function span(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
}
