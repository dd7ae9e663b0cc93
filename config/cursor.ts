// Reads a document that may be wrong anywhere: a step that is not there leads to a cursor on nothing. Rules that span
// sections use it, so that they can speak beside faults of the schema instead of after them.

import { isMap, type Path, valueAt } from './path.ts';

export class Cursor {
  readonly path: Path;
  readonly value: unknown;

  constructor(document: unknown, path: Path = []) {
    this.path = path;
    this.value = document;
  }

  at(...steps: Path): Cursor {
    return new Cursor(valueAt(this.value, steps), [...this.path, ...steps]);
  }

  get present(): boolean {
    return this.value !== undefined;
  }

  /** Children of a map; none of anything else. */
  entries(): readonly (readonly [string, Cursor])[] {
    return isMap(this.value) ? Object.keys(this.value).map((key) => [key, this.at(key)] as const) : [];
  }

  /** Items of a list; none of anything else. */
  items(): readonly Cursor[] {
    return Array.isArray(this.value) ? this.value.map((_, i) => this.at(i)) : [];
  }

  get text(): string | undefined {
    return typeof this.value === 'string' ? this.value : undefined;
  }

  get number(): number | undefined {
    return typeof this.value === 'number' ? this.value : undefined;
  }
}
