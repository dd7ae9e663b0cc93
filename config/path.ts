// Where a value stands in the configuration: as steps, as a JSON pointer (what the validator speaks), as people read it.

export type Path = readonly (string | number)[];

export function pointerOf(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Steps of a pointer. A step of digits is a number only below a list, which is why the document is needed. */
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

/** `installer.plugins.genelist.dataTypes[0].name`; a key that is no plain word is quoted. */
export function displayPath(path: Path): string {
  return path
    .map((step, i) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^[A-Za-z$_][\w$-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return i === 0 ? step : `.${step}`;
    })
    .join('');
}

/** True for anything that a map of the file becomes. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
