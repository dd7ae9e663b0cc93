// Named schemas of an OpenAPI document: a schema with a `title` becomes a component, and is replaced by a reference. A client that
// is generated from the document then has one type for it.

import { isDeepStrictEqual } from 'node:util';
import type { JsonSchema } from '../pipeline/route.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Where references point to. */
export const SCHEMAS = '#/components/schemas/';
/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = new Set(['items', 'additionalProperties', 'not']);
const LISTS = new Set(['anyOf', 'oneOf', 'allOf']);
const MAPS = new Set(['properties', 'patternProperties']);

export class Components {
  readonly #schemas = new Map<string, Schema>();

  /** The collected schemas, by name. */
  get schemas(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Returns the schema with references. Throws if two different schemas have the same name. */
  referenced(schema: JsonSchema): Schema {
    const { title, ...rest } = schema as Schema;
    const inner: Schema = Object.fromEntries(
      Object.entries(rest).map(([keyword, value]) => [keyword, this.#inside(keyword, value)]),
    );
    if (typeof title !== 'string') return inner;
    // The same schema may have a different description and default in each place.
    const { description, default: initial, ...named } = inner;
    const known = this.#schemas.get(title);
    if (known && !isDeepStrictEqual(known, named)) throw new Error(`two schemas are named ${title}`);
    this.#schemas.set(title, named);
    return {
      $ref: SCHEMAS + title,
      ...(description === undefined ? {} : { description }),
      ...(initial === undefined ? {} : { default: initial }),
    };
  }

  #inside(keyword: string, value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (ONE.has(keyword)) return this.referenced(value);
    if (LISTS.has(keyword)) return (value as readonly JsonSchema[]).map((one) => this.referenced(one));
    if (!MAPS.has(keyword)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.referenced(one as JsonSchema)]));
  }
}
