// From the checked document to what the program uses: every form resolved, durations under keys ending in `Ms`.

import { FORMS } from './forms.ts';
import { isMap } from './path.ts';
import { branchOf, childOf, type SchemaNode } from './schema-node.ts';

/** @param dir folder of the configuration file, where relative paths start */
export function resolveForms(schema: SchemaNode, value: unknown, dir: string): unknown {
  const branch = branchOf(schema, value) ?? schema;
  let result = value;
  if (Array.isArray(value)) result = value.map((item) => (branch.items ? resolveForms(branch.items, item, dir) : item));
  else if (isMap(value)) result = resolveMap(branch, value, dir);
  const form = schema['x-form'];
  return form === undefined ? result : FORMS[form].resolve(result, { dir, schema });
}

function resolveMap(schema: SchemaNode, value: Record<string, unknown>, dir: string): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const child = childOf(schema, value, key);
    if (!child) result[key] = item;
    else result[isDuration(child) ? `${key}Ms` : key] = resolveForms(child, item, dir);
  }
  return result;
}

const isDuration = (schema: SchemaNode): boolean =>
  schema['x-form'] === 'duration' || schema['x-form'] === 'positive-duration';
