// The words of a fault: what the schema allows, what was found (never a secret), and the key that was probably meant.

import { FORMS } from './forms.ts';
import { isMap } from './path.ts';
import { driversOf, isDriverUnion, type SchemaNode, takesType, typeOf } from './schema-node.ts';

const MAX_SHOWN = 80;
const MAX_KEYS = 24;

/** What the schema allows at a node, in words. */
export function allowedBy(schema: SchemaNode): string {
  if (schema['x-allowed'] !== undefined) return schema['x-allowed'];
  const form = schema['x-form'] && FORMS[schema['x-form']].allowed;
  if (form !== undefined) return form;
  if (schema.enum) return `one of ${schema.enum.map(String).join(', ')}`;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (isDriverUnion(schema)) return `a map; \`driver\` is one of ${driversOf(schema).join(', ')}`;
  if (schema.anyOf) return schema.anyOf.map(allowedBy).join(', or ');
  const types = [schema.type ?? []].flat();
  return types.map((type) => allowedOfType(schema, type)).join(' or ') || 'any value';
}

function allowedOfType(schema: SchemaNode, type: string): string {
  switch (type) {
    case 'string':
      return FORMATS[schema.format ?? ''] ?? `text${bounds(schema.minLength, schema.maxLength, 'character')}`;
    case 'integer':
    case 'number': {
      const range = bounds(schema.minimum, schema.maximum, '');
      return `${type === 'integer' ? 'a whole number' : 'a number'}${range}`;
    }
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${bounds(schema.minItems, undefined, 'item')}${schema.uniqueItems ? ' that differ' : ''}, each ${allowedBy(schema.items ?? {})}`;
    case 'object':
      return `a map${keysOf(schema)}`;
    default:
      return type;
  }
}

const FORMATS: Readonly<Record<string, string>> = { email: 'an e-mail address', uri: 'a URI' };

function bounds(low: number | undefined, high: number | undefined, unit: string): string {
  const of = (count: number): string => `${count}${unit && ` ${unit}${count === 1 ? '' : 's'}`}`;
  if (low !== undefined && high !== undefined) return ` ${low}..${of(high)}`;
  if (low !== undefined) return ` of at least ${of(low)}`;
  return high === undefined ? '' : ` of at most ${of(high)}`;
}

function keysOf(schema: SchemaNode): string {
  if (!schema.properties) return bounds(schema.minProperties, undefined, 'key');
  return ` with the keys ${keyList(schema)}`;
}

/** The keys of a section, required ones with `*`. */
export function keyList(schema: SchemaNode): string {
  const keys = Object.keys(schema.properties ?? {}).map((key) => (schema.required?.includes(key) ? `${key}*` : key));
  const more = keys.length > MAX_KEYS ? `, .. (${keys.length - MAX_KEYS} more)` : '';
  return keys.slice(0, MAX_KEYS).join(', ') + more;
}

/** What was found. A scalar is shown only where the schema expects a scalar that is not a secret. */
export function foundAt(schema: SchemaNode | undefined, value: unknown, written?: string): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'nothing (null)';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isMap(value)) return Object.keys(value).length === 0 ? 'an empty map' : 'a map';
  if (schema?.writeOnly)
    return `${typeof value === 'string' ? `${value.length} characters` : SCALARS[typeof value]} [hidden]`;
  if (!schema || !takesScalar(schema)) return SCALARS[typeof value] ?? typeOf(value);
  return typeof value === 'string' ? shown(JSON.stringify(value)) : shown(written ?? String(value));
}

const SCALARS: Readonly<Record<string, string>> = { string: 'text', number: 'a number', boolean: 'true or false' };

const takesScalar = (schema: SchemaNode): boolean =>
  ['string', 'integer', 'boolean'].some((type) => takesType(schema, type));

function shown(text: string): string {
  // Hides passwords in URLs and addresses, also in the wrong place.
  const plain = text.replace(/[^\s/@:"]*:[^\s@]*@/g, '[hidden]@');
  return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}..` : plain;
}

/** Longer than any known key. Bounds the comparison below, which is quadratic. */
const MAX_LENGTH = 64;

/**
 * The known key that a misspelled one probably meant: at most two edits away (one for short keys), or equal except for case and
 * dashes.
 */
export function suggestKey(wrong: string, known: readonly string[]): string | undefined {
  if (wrong.length > MAX_LENGTH) return undefined;
  const plain = (key: string): string => key.toLowerCase().replaceAll(/[-_]/g, '');
  const limit = wrong.length < 5 ? 1 : 2;
  let best: { readonly key: string; readonly edits: number } | undefined;
  for (const key of known) {
    const edits = plain(key) === plain(wrong) ? 0 : editsBetween(wrong, key);
    if (edits <= limit && edits < (best?.edits ?? Number.POSITIVE_INFINITY)) best = { key, edits };
  }
  return best?.key;
}

/** The number of insertions, deletions, replacements and swaps of neighbors that turn one word into the other. */
function editsBetween(a: string, b: string): number {
  // One row per letter of `a`. Swaps need the row before the last one.
  let older: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const options = [(previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + (same ? 0 : 1)];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) options.push((older[j - 2] ?? 0) + 1);
      row.push(Math.min(...options));
    }
    older = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}
