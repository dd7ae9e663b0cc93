// Clean-up of a JSON body before it is validated: text is trimmed, blank text and nulls count as absent. Written without
// trust in depth: bodies come from anybody.

import type { FaultSink, FieldPath } from '../../kernel/input/faults.ts';

/** The deepest field of the contract is four steps down (`externalIdentifiers.dois[0].doi`). */
const MAX_DEPTH = 16;

/** A cleaned copy; undefined when nothing is left of the value. Lists keep the order of what remains. */
export function clean(value: unknown, faults: Pick<FaultSink, 'add'>, path: FieldPath = []): unknown {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'string') return value.trim() || undefined;
  if (typeof value !== 'object') return value;
  if (path.length >= MAX_DEPTH) {
    faults.add(path, `is nested deeper than ${MAX_DEPTH} levels`);
    return undefined;
  }
  if (Array.isArray(value)) {
    return value.map((item, i) => clean(item, faults, [...path, i])).filter((item) => item !== undefined);
  }
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, clean(item, faults, [...path, key])] as const)
      .filter(([, item]) => item !== undefined),
  );
}
