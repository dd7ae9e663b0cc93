// Whether a real answer is what its route's schema says, and nothing besides: every object of the schema is closed.

import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Route } from '../../../http/kernel/pipeline/route.ts';

type Schema = { readonly [keyword: string]: unknown };

/** The faults of a JSON body; empty when it is as promised. */
export function responseFaults(schema: object, text: string): readonly string[] {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  // The package's default export is typed as a namespace under nodenext.
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  const validate = ajv.compile(closed(schema as Schema) as Schema);
  validate(JSON.parse(text));
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** The schema that the route gives for a code. */
export function schemaOf(routes: readonly Route[], operationId: string, code: number): object {
  const schema = routes.find((route) => route.operationId === operationId)?.responses[code]?.schema;
  if (!schema) throw new Error(`no schema for ${operationId} ${code}`);
  return schema;
}

/** The schema with every object that names its members closed. */
export function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, closed(item)]));
  return copy.type === 'object' && copy.properties !== undefined ? { additionalProperties: false, ...copy } : copy;
}
