// The few builders of JSON Schema that the schemas of the front ends need, with TypeBox's names and static types. We do not use
// TypeBox itself at run time, because it takes a tenth of a second and 20 MB to load.
// test/http/kernel/openapi/schema-node.test.ts compares each builder with TypeBox's.

import type { TObject, TProperties, Type as TypeBox } from 'typebox';
import type { UserId } from '../../../engine/model/ids.ts';

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
> & {
  /** An object that is a component of the OpenAPI document, under this name. */
  Named<Properties extends TProperties>(name: string, properties: Properties, options?: object): TObject<Properties>;
};
type Node = Readonly<Record<string, unknown>>;

/** This property is not enumerable, so it does not appear in documents. */
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

// The cast gives the builders TypeBox's static types. At run time a node is plain JSON Schema.
export const Type = {
  Array: (items: object, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: plain('boolean'),
  Enum: (values: readonly unknown[], options?: object) => ({ enum: [...values], ...options }),
  Integer: plain('integer'),
  Named: (title: string, properties: Readonly<Record<string, object>>, options?: object) =>
    object(properties, { title, ...options }),
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

/** User ids in responses: a JSON integer on the wire and decimal text in the program (engine/model/json.ts). */
export const UserIdOutput = Type.Unsafe<UserId>({ type: 'integer', format: 'int64', minimum: 1, title: 'UserId' });
