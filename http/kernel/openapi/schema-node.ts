// The few builders of JSON Schema that the front ends' schemas are written with, in TypeBox's words and with its static
// types. TypeBox itself, which can do far more, takes a tenth of a second and 20 MB to load and would be there only for this;
// test/http/kernel/openapi/schema-node.test.ts holds each builder against its own.

import type { Type as TypeBox } from 'typebox';

type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>;
type Node = Readonly<Record<string, unknown>>;

/** Not enumerable: no document shows it. */
const OPTIONAL = '~optional';
const ANY_KEY = '^.*$';

const plain = (type: string) => (options?: object) => ({ type, ...options });

function object(properties: Readonly<Record<string, object>>, options?: object): Node {
  const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] ?? {})));
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options };
}

const optional = (node: object): object => Object.defineProperty({ ...node }, OPTIONAL, { value: true });

const record = ({ pattern = ANY_KEY }: { readonly pattern?: string }, value: object, options?: object): Node => ({
  type: 'object',
  patternProperties: { [pattern]: value },
  ...options,
});

// Their static types are TypeBox's by declaration: a node at run time is plain JSON Schema.
export const Type = {
  Array: (items: object, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: plain('boolean'),
  Enum: (values: readonly unknown[], options?: object) => ({ enum: [...values], ...options }),
  Integer: plain('integer'),
  Null: plain('null'),
  Number: plain('number'),
  Object: object,
  Optional: optional,
  Record: record,
  String: plain('string'),
  Union: (anyOf: readonly object[], options?: object) => ({ anyOf, ...options }),
  Unknown: (options?: object) => ({ ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
} as unknown as Builders;
