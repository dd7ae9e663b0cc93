// Paths of values in the configuration: as steps, as a JSON pointer (for the validator) and for display; and a cursor that
// reads along a path.

export type Path = readonly (string | number)[];

export function pointerOf(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The steps of a pointer. Needs the document, because digits are an index only in a list. */
export function pathOf(pointer: string, document: unknown): Path {
  const path: (string | number)[] = [];
  let at = document;
  for (const raw of pointer.split('/').slice(1)) {
    const step = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(at) ? Number(step) : step);
    at = valueAt(at, [path.at(-1) ?? '']);
  }
  return path;
}

export function valueAt(document: unknown, path: Path): unknown {
  let at = document;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<string | number, unknown>)[step];
  }
  return at;
}

/** For display: `installer.plugins.genelist.dataTypes[0].name`. A key that is not a plain word is quoted. */
export function displayPath(path: Path): string {
  return path
    .map((step, i) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^[A-Za-z$_][\w$-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return i === 0 ? step : `.${step}`;
    })
    .join('');
}

/** True for the value of any map in the file. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads a document that may be wrong anywhere: a step to an absent value leads to a cursor on nothing. Rules that span
 * sections use it, so that their findings are reported together with faults of the schema.
 */
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

  /** The children of a map; empty for anything else. */
  entries(): readonly (readonly [string, Cursor])[] {
    return isMap(this.value) ? Object.keys(this.value).map((key) => [key, this.at(key)] as const) : [];
  }

  /** The items of a list; empty for anything else. */
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
