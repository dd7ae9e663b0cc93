// Descriptions for messages: the values that a schema allows, and the value that was found.

import { visible } from '../../../engine/model/file-name.ts';

const MAX_SHOWN = 60;

/** The values that a schema allows, as a noun phrase: 'text of 3 to 256 characters', 'one of 'pmid', 'doi''. */
export function describeSchema(schema: object): string {
  const {
    enum: values,
    type,
    minLength,
    maxLength,
    minimum,
    maximum,
    minItems,
    maxItems,
  } = schema as Record<string, unknown>;
  if (Array.isArray(values)) return `one of ${values.map(quote).join(', ')}`;
  switch (type) {
    case 'string':
      return `text${bounds(' of', minLength, maxLength, 'character')}`;
    case 'integer':
      return `a whole number${bounds('', minimum, maximum, '')}`;
    case 'number':
      return `a number${bounds('', minimum, maximum, '')}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${bounds(' of', minItems, maxItems, 'item')}`;
    case 'object':
      return 'an object';
    default:
      return 'a value';
  }
}

/** A description of the value, with at most 60 characters of a text. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'absent';
  if (value === null) return 'null';
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object') return String(value);
  return Array.isArray(value) ? `a list of ${value.length}` : 'an object';
}

/** Quotes a text, truncated if it is long. Other values are shown as JSON. */
export function quote(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const characters = [...value];
  return `'${visible(characters.length > MAX_SHOWN ? `${characters.slice(0, MAX_SHOWN).join('')}...` : value)}'`;
}

/** '1 item', '2 items'. */
export const counted = (n: number, unit: string): string => `${n} ${unit}${n === 1 ? '' : 's'}`;

function bounds(lead: string, from: unknown, to: unknown, unit: string): string {
  const range =
    from !== undefined && to !== undefined
      ? `${lead || ' from'} ${from} to ${to}`
      : from !== undefined
        ? `${lead} at least ${from}`
        : to !== undefined
          ? `${lead} at most ${to}`
          : undefined;
  return range === undefined ? '' : unit === '' ? range : `${range} ${unit}${(to ?? from) === 1 ? '' : 's'}`;
}
