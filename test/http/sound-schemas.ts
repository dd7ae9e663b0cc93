// What a service does not look at when it starts (http/kernel/input/json-schema.ts, http/kernel/pipeline/query.ts): that every schema of
// its routes is one by the standard, and compiles.

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Route } from '../../http/kernel/pipeline/route.ts';

/** What is wrong with them; that there are none as well. */
export function unsoundSchemas(routes: readonly Route[]): readonly string[] {
  const found = routes.flatMap((route) => [
    ...Object.entries(route.query ?? {}).map(
      ([name, { schema }]) => [`${route.operationId} ?${name}`, schema] as const,
    ),
    ...Object.entries(route.body?.content ?? {}).map(([type, s]) => [`${route.operationId} ${type}`, s] as const),
  ]);
  return found.length === 0 ? ['no route has a schema'] : found.flatMap(([name, schema]) => faultsOf(name, schema));
}

function faultsOf(name: string, schema: object): readonly string[] {
  const formats = { binary: true, 'date-time': true, int64: true } as const;
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, formats });
  try {
    ajv.compile(schema);
    return [];
  } catch (error) {
    return [`${name}: ${String(error)}`];
  }
}
