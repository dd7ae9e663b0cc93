// JSON bodies of requests: cleaning, and collecting faults.

import { type FaultSink, type FieldPath, formatPath } from '../../kernel/input/faults.ts';

/** The deepest field of the contract is four steps down (`externalIdentifiers.dois[0].doi`). */
const MAX_DEPTH = 16;

/**
 * A cleaned copy of a JSON body, made before it is validated: text is trimmed, blank text and nulls count as absent. Undefined
 * when nothing is left of the value. Lists keep their order. Depth is bounded, because bodies are not trusted.
 */
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

interface Fault {
  readonly path: FieldPath;
  /** Continues the field's name. */
  readonly sentence: string;
}

/** Faults one by one, for code that compares or moves them before they are reported. */
export class FaultList implements FaultSink {
  readonly #all: Fault[] = [];
  readonly #places = new Set<string>();
  readonly #touched = new Set<string>();

  add(path: FieldPath, sentence: string): void {
    this.#all.push({ path, sentence });
    this.#places.add(formatPath(path));
    this.#touched.add(String(path[0]));
  }

  touches(field: string): boolean {
    return this.#touched.has(field);
  }

  /** True when exactly this path has a fault. */
  has(path: FieldPath): boolean {
    return this.#places.has(formatPath(path));
  }

  get all(): readonly Fault[] {
    return this.#all;
  }
}
