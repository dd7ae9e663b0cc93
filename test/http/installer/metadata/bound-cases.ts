// The bounds of a schema, each tried at, below and above, in whatever way a value gets to its place.

import type { Test } from 'tap';
import { type Leaf, type Path, sample } from './schema-cases.ts';

export interface Way {
  /** The places; the root, if it is one of them, has the path []. */
  readonly nodes: readonly Leaf[];
  /** Under which a fault at the path is told. */
  readonly keyOf: (path: Path) => string;
  /** The faults by key once the value stands there. */
  readonly put: (path: Path, value: unknown) => Readonly<Record<string, readonly string[]>>;
  /** How many texts are tried, so that no bound gets lost unseen. */
  readonly texts: number;
}

export function tryBounds(t: Test, { nodes, keyOf, put, texts }: Way): void {
  const faults = (path: Path, value: unknown) => put(path, value)[keyOf(path)];
  const of = (type: string) => nodes.filter(({ schema }) => schema.type === type);

  t.test('text is accepted at its bounds and refused beyond them', async (t) => {
    let tried = 0;
    for (const { path, schema } of of('string')) {
      const { minLength: least, maxLength: most } = schema;
      const bound = most === undefined ? `at least ${least}` : `${least} to ${most}`;
      const words = least === undefined ? `at most ${most}` : bound;
      for (const [length, good] of [
        [least, true],
        [most, true],
        [least && least - 1, false],
        [most && most + 1, false],
      ] as const) {
        if (!length) continue;
        tried++;
        const told = `has ${length} character${length === 1 ? '' : 's'}; text of ${words} characters is required`;
        const found = faults(path, '1'.repeat(length))?.[0];
        t.equal(found, good ? undefined : told, `${keyOf(path)} with ${length} characters`);
      }
    }
    t.equal(tried, texts, 'texts');
  });

  t.test('numbers are accepted at their bounds and refused beyond them', async (t) => {
    for (const { path, key, schema } of of('integer')) {
      const { minimum = 0, maximum = 0 } = schema;
      // The end of a span of years may not be before its start, which is 1500 in the sample.
      for (const value of key.endsWith('start') ? [minimum] : [minimum, maximum])
        t.equal(faults(path, value), undefined, `${keyOf(path)} = ${value}`);
      const told = `a whole number from ${minimum} to ${maximum} is required`;
      for (const value of [minimum - 1, maximum + 1, 1600.5])
        t.strictSame(faults(path, value), [`is ${value}; ${told}`], `${keyOf(path)} = ${value}`);
    }
  });

  t.test('every required field is missed when absent, null or blank', async (t) => {
    for (const { path, schema } of nodes)
      for (const name of schema.required ?? [])
        for (const value of schema.properties?.[name]?.type === 'string' ? [undefined, null, ' \t'] : [undefined, null])
          t.match(
            faults([...path, name], value)?.[0],
            /^is missing; .+ is required$/,
            `${keyOf([...path, name])} = ${JSON.stringify(value)}`,
          );
  });

  t.test('every field refuses values of another kind, naming what it found', async (t) => {
    for (const { path, schema } of nodes.filter(({ path }) => path.length > 0)) {
      const [value, found] = schema.type === 'object' ? ['words', "'words'"] : [{ other: 1 }, 'an object'];
      t.match(faults(path, value)?.[0], new RegExp(`^is ${found}; `), keyOf(path));
    }
  });

  t.test('every object refuses a field it does not know, naming those it knows', async (t) => {
    for (const { path, schema } of of('object')) {
      const known = Object.keys(schema.properties ?? {}).join(', ');
      const at = [...path, 'extra'];
      t.strictSame(faults(at, 1), [`is not a known field; known are ${known}`], keyOf(at));
    }
  });

  t.test('every unique list refuses equal items, whatever the order of their keys', async (t) => {
    for (const { path, schema } of nodes.filter((node) => node.schema.uniqueItems)) {
      const item = sample(schema.items ?? {});
      const twin = typeof item === 'object' && item ? Object.fromEntries(Object.entries(item).reverse()) : `  ${item} `;
      const told = 'holds the same item at 0 and 1; each item may stand once';
      t.strictSame(faults(path, [item, twin]), [told], keyOf(path));
    }
  });
}
