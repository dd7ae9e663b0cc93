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

/** Such as `250 ms`, and as `duration`. */
export function milliseconds(count: number): string {
  if (count < 1_000) return `${count.toLocaleString('en', { maximumFractionDigits: count < 10 ? 1 : 0 })} ms`;
  return duration(count / 1_000);
}

const UNITS_OF_TIME = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** Such as `3.2 s`, `3 min 20 s` and `2 d 10 h`: the two largest units. Empty if it is not known. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  if (seconds < 10) return `${seconds.toLocaleString('en', { maximumFractionDigits: 1 })} s`;
  const whole = Math.round(seconds);
  const first = UNITS_OF_TIME.findIndex(([, length]) => whole >= length);
  return UNITS_OF_TIME.slice(first, first + 2)
    .map(([unit, length], i) => [
      Math.floor((i === 0 ? whole : whole % (UNITS_OF_TIME[first]?.[1] ?? 1)) / length),
      unit,
    ])
    .filter(([count]) => count !== 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** Such as `genelist 1.0`, however the server joins the two. */
export const typeName = (type: string | { readonly name: string; readonly version: string }): string =>
  typeof type === 'string' ? type.replace(/[@:]([^@:]*)$/, ' $1') : `${type.name} ${type.version}`;
