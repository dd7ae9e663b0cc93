// How a strict client reads JSON: each decoder says what it does not understand, by place. A value that does not fit refuses
// the whole answer; a field that is not known is passed over.

/** What is wrong with the value; nothing when the client understands it. */
export type Decoder = (value: unknown, at: string) => readonly string[];

const kind = (name: string, fits: (value: unknown) => boolean): Decoder => {
  return (value, at) => (fits(value) ? [] : [`${at} is ${shown(value)}; ${name} is expected`]);
};

export const text = kind('text', (value) => typeof value === 'string');
export const flag = kind('true or false', (value) => typeof value === 'boolean');
export const whole = kind('a whole number', (value) => Number.isInteger(value));
export const date = kind('a date', (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)));

/** One of a closed set. */
export const oneOf = (...words: readonly string[]): Decoder =>
  kind(`one of ${words.join(', ')}`, (value) => typeof value === 'string' && words.includes(value));

export const list =
  (item: Decoder): Decoder =>
  (value, at) =>
    Array.isArray(value)
      ? value.flatMap((one, i) => item(one, `${at}[${i}]`))
      : [`${at} is ${shown(value)}; a list is expected`];

export const mapOf =
  (item: Decoder): Decoder =>
  (value, at) =>
    isObject(value)
      ? Object.entries(value).flatMap(([name, one]) => item(one, `${at}.${name}`))
      : [`${at} is ${shown(value)}; an object is expected`];

/** @param optional may be absent, but not null */
export function record(
  required: Readonly<Record<string, Decoder>>,
  optional: Readonly<Record<string, Decoder>> = {},
): Decoder {
  return (value, at) => {
    if (!isObject(value)) return [`${at} is ${shown(value)}; an object is expected`];
    const needed = Object.entries(required).flatMap(([name, decode]) => decode(value[name], `${at}.${name}`));
    const given = Object.entries(optional).filter(([name]) => name in value);
    return [...needed, ...given.flatMap(([name, decode]) => decode(value[name], `${at}.${name}`))];
  };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 80) ?? 'missing';
