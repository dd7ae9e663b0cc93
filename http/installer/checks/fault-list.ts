// Faults one by one, for whoever has to compare or to move them before they are told to anybody.

import { type FaultSink, type FieldPath, formatPath } from '../../kernel/input/faults.ts';

export interface Fault {
  readonly path: FieldPath;
  /** Continues the field's name. */
  readonly sentence: string;
}

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

  /** True when the very place has a fault, whichever. */
  has(path: FieldPath): boolean {
    return this.#places.has(formatPath(path));
  }

  get all(): readonly Fault[] {
    return this.#all;
  }
}
