// Defaults of the schema, filled into a copy of the document. The document may be wrong elsewhere.

import { isMap } from './path.ts';
import { branchOf, childOf, type SchemaNode } from './schema-node.ts';

export function fillDefaults(schema: SchemaNode, value: unknown): unknown {
  const branch = branchOf(schema, value);
  if (!branch) return value;
  if (Array.isArray(value)) return value.map((item) => (branch.items ? fillDefaults(branch.items, item) : item));
  if (!isMap(value)) return value;
  const result: Record<string, unknown> = {};
  // In the order of the schema, which is the order in which the document is printed.
  for (const [key, child] of Object.entries(branch.properties ?? {})) {
    const item = Object.hasOwn(value, key) ? value[key] : child.default;
    if (item !== undefined) result[key] = fillDefaults(child, item);
  }
  for (const [key, item] of Object.entries(value)) {
    if (Object.hasOwn(result, key)) continue;
    const child = childOf(branch, value, key);
    result[key] = child ? fillDefaults(child, item) : item;
  }
  return result;
}
