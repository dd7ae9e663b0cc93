// Every place of a schema, and a value of it, for tests that try each bound.

export interface Schema {
  readonly type?: string;
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly uniqueItems?: boolean;
}
export type Path = readonly (string | number)[];
export interface Leaf {
  readonly path: Path;
  readonly key: string;
  readonly schema: Schema;
}

/** As faults name it: `contacts[0].email`. */
export const keyOf = (path: Path): string =>
  path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`)).join('');

/** Every schema below the root, with the path of an example value (lists at position 0). */
export function nodes(schema: Schema, path: Path = []): Leaf[] {
  const below = [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => nodes(child, [...path, name])),
    ...(schema.items ? nodes(schema.items, [...path, 0]) : []),
  ];
  return path.length === 0 ? below : [{ path, key: keyOf(path), schema }, ...below];
}

/** A value of the schema with every field given. Digits, so that a publication identifier is sound too. */
export function sample(schema: Schema): unknown {
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case 'string':
      return '1'.repeat(Math.max(schema.minLength ?? 1, 1));
    case 'integer':
      return schema.minimum;
    case 'boolean':
      return false;
    case 'array':
      return [sample(schema.items ?? {})];
    default:
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, child]) => [name, sample(child)]));
  }
}
