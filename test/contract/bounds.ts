// Details at, below and above every bound of the metadata table, generated from the schema that the API checks with: all
// fields at once, so that a few requests try them all.

import { CreateDetails } from '../../http/installer/metadata/create-details.ts';
import { keyOf, type Leaf, nodes, type Path, type Schema, sample } from '../http/installer/metadata/schema-cases.ts';
import { LONGEST_TARGET, TARGETS } from './world.ts';

const ROOT = CreateDetails as unknown as Schema;
export const LEAVES: readonly Leaf[] = nodes(ROOT);
export type Values = Record<string, unknown>;

/** A copy of the sample with other values at some places; `undefined` leaves the place as it is. */
function withValues(wantedOf: (leaf: Leaf) => unknown): Values {
  const root = sample(ROOT) as Values;
  for (const leaf of LEAVES) {
    const value = wantedOf(leaf);
    if (value !== undefined) place(root, leaf.path, value);
  }
  return root;
}

function place(root: Values, path: Path, value: unknown): void {
  let at = root as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  at[path.at(-1) ?? ''] = value;
}

export const atMinimum = (): Values =>
  withValues(({ key, schema }) => (key === 'installTargets[0]' ? TARGETS.genomics : boundOf(schema, 'minimum')));

export const atMaximum = (): Values => ({
  ...withValues(({ key, schema }) => (key === 'installTargets[0]' ? LONGEST_TARGET : boundOf(schema, 'maximum'))),
  visibility: 'protected',
});

/** Undefined where there is nothing below: text of no characters is no text at all. */
export function below({ schema }: Leaf): unknown {
  if (schema.type === 'integer') return (schema.minimum ?? 0) - 1;
  return (schema.minLength ?? 0) > 1 ? text((schema.minLength ?? 0) - 1) : undefined;
}

export function above({ schema }: Leaf): unknown {
  if (schema.type === 'integer') return (schema.maximum ?? 0) + 1;
  return schema.maxLength === undefined ? undefined : text(schema.maxLength + 1);
}

export const allBelow = (): Values => withValues(below);
export const allAbove = (): Values => withValues(above);

/** Every list holds its item twice. */
export function allTwice(): Values {
  const root = sample(ROOT) as Values;
  // Inner lists first, so that the doubled items are whole.
  for (const { path, schema } of [...LEAVES].reverse())
    if (schema.type === 'array') place(root, path, [sample(schema.items ?? {}), sample(schema.items ?? {})]);
  return root;
}

/** Every object is there, and empty. */
export const allEmpty = (): Values => {
  const empty = (schema: Schema): unknown =>
    schema.type === 'array' ? [empty(schema.items ?? {})] : schema.type === 'object' ? {} : sample(schema);
  const values = Object.fromEntries(
    Object.entries(ROOT.properties ?? {}).map(([name, schema]) => [name, empty(schema)] as const),
  );
  const inner = (name: string): unknown =>
    Object.fromEntries(
      Object.entries(ROOT.properties?.[name]?.properties ?? {}).map(([member, schema]) => [member, empty(schema)]),
    );
  return {
    ...values,
    datasetCharacteristics: inner('datasetCharacteristics'),
    externalIdentifiers: inner('externalIdentifiers'),
  };
};

/** Keys of the fields that must be there wherever their parents are. */
export const REQUIRED: readonly string[] = [{ path: [] as Path, schema: ROOT }, ...LEAVES].flatMap(({ path, schema }) =>
  (schema.required ?? []).map((name) => keyOf([...path, name])),
);

export const isBelow = (key: string, field: string): boolean =>
  key === field || key.startsWith(`${field}.`) || key.startsWith(`${field}[`);

function boundOf(schema: Schema, which: 'minimum' | 'maximum'): unknown {
  if (schema.type === 'integer') return schema[which];
  const length = which === 'minimum' ? schema.minLength : schema.maxLength;
  return schema.type === 'string' && !schema.enum && length !== undefined ? text(length) : undefined;
}

const text = (length: number): string => '1'.repeat(length);
