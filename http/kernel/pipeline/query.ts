// Reads query parameters: only those of the route, converted and checked against their schemas.

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { badRequest } from './errors.ts';
import type { Route } from './route.ts';

export type QueryValue = string | number | boolean;
export type Query = Readonly<Record<string, QueryValue | undefined>>;

const NONE: Query = Object.freeze(Object.create(null));

/** The schemas are our own, so they are validated in tests and not here. */
const OPTIONS = {
  ...{ coerceTypes: true, allErrors: true, strict: false, formats: { int64: true as const } },
  ...{ meta: false, validateSchema: false },
};

export class QueryReader {
  readonly #compiler = new Ajv2020(OPTIONS);
  /** Compiled at a route's first call with parameters, because most of the hundred routes are never called with any. */
  readonly #checks = new Map<Route, ValidateFunction>();

  /** Throws 400 with the parameter, its value and the allowed values. */
  read(route: Route, search: URLSearchParams): Query {
    if (search.size === 0) return NONE;
    // Without a prototype, so that `constructor` and `__proto__` are ordinary names.
    const query: Record<string, QueryValue> = Object.create(null);
    for (const [name, value] of search) {
      if (name in query) throw badRequest(`query parameter '${name}' is given twice`);
      // As in paths and bodies: PostgreSQL cannot store NUL, so nothing could be found by it.
      if (value.includes('\0')) throw badRequest(`query parameter '${name}' holds the character U+0000`);
      query[name] = value;
    }
    const given = { ...query };
    const check = this.#checkOf(route);
    if (!check(query)) {
      const faults = (check.errors ?? []).map((fault) => {
        if (fault.keyword === 'additionalProperties') {
          const known = Object.keys(route.query ?? {});
          return `query parameter '${fault.params.additionalProperty}' is unknown; known: ${known.join(', ') || 'none'}`;
        }
        const name = fault.instancePath.slice(1);
        const allowed =
          fault.keyword === 'enum' ? `one of ${(fault.params.allowedValues as unknown[]).join(', ')}` : fault.message;
        return `query parameter '${name}' is '${given[name]}': ${allowed}`;
      });
      throw badRequest(faults.join('; '));
    }
    return query;
  }

  #checkOf(route: Route): ValidateFunction {
    let check = this.#checks.get(route);
    if (!check) {
      const properties = Object.fromEntries(
        Object.entries(route.query ?? {}).map(([name, { schema }]) => [name, schema]),
      );
      check = this.#compiler.compile({ type: 'object', additionalProperties: false, properties });
      this.#checks.set(route, check);
    }
    return check;
  }
}
