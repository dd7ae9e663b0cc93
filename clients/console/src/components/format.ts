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
