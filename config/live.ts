// Settings that a running process takes over from its file when it is asked to (`x-live` in the schema, and nowhere
// else), by how they take effect. Whoever reloads has one taker for each kind.

import { displayPath, type Path } from './path.ts';
import type { SchemaNode } from './schema-node.ts';

/** When a change takes effect, as people are told. */
export const LIVE_KINDS = {
  'lane-bounds': 'at once; running jobs end in their time',
  'daemon-interval': 'at once, counted from the start of the last run',
  'plugin-timeouts': 'for calls that begin afterwards',
  'log-level': 'at once',
} as const;
export type LiveKind = keyof typeof LIVE_KINDS;

/** Every live setting of a schema; `*` stands for the keys of a map. */
export function liveSettings(
  schema: SchemaNode,
  path: Path = [],
): readonly { readonly path: string; readonly kind: LiveKind }[] {
  const kind = schema['x-live'];
  if (kind !== undefined) return [{ path: displayPath(path).replaceAll('["*"]', '.*'), kind }];
  const { properties = {}, additionalProperties, items, anyOf = [] } = schema;
  const below: readonly (readonly [Path, SchemaNode])[] = [
    ...Object.entries(properties).map(([key, child]) => [[...path, key], child] as const),
    ...(typeof additionalProperties === 'object' ? [[[...path, '*'], additionalProperties] as const] : []),
    ...(items ? [[[...path, '*'], items] as const] : []),
    ...anyOf.map((branch) => [path, branch] as const),
  ];
  return below.flatMap(([at, child]) => liveSettings(child, at));
}
