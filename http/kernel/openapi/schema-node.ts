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

// Schemas in words, for people: `text of 3 to 1024 characters`, and the members of an object.

/** The keywords that our schemas use. */
export interface WordedSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, WordedSchema>>;
  readonly required?: readonly string[];
  readonly items?: WordedSchema;
  readonly anyOf?: readonly WordedSchema[];
  readonly additionalProperties?: boolean | WordedSchema;
  readonly patternProperties?: Readonly<Record<string, WordedSchema>>;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly contentMediaType?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
}

/** Describes a schema in one phrase, without the members of objects and without the description. */
export function schemaWords(schema: WordedSchema): string {
  const words = [kindOf(schema)];
  if (schema.default !== undefined) words.push(`default ${JSON.stringify(schema.default)}`);
  return words.join('; ');
}

/** The members of an object, or of the objects in a list. For a choice, the members of all alternatives, each name once. */
export function membersOf(
  schema: WordedSchema,
): readonly { readonly name: string; readonly required: boolean; readonly schema: WordedSchema }[] {
  if (schema.items) return membersOf(schema.items);
  const found = new Map(
    (schema.anyOf ?? []).flatMap((one) => membersOf(one)).map((member) => [member.name, member] as const),
  );
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    found.set(name, { name, required: schema.required?.includes(name) ?? false, schema: member });
  return [...found.values()];
}

function kindOf(schema: WordedSchema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  // Alternatives may have the same words, because they differ only in their members.
  if (schema.anyOf) return [...new Set(schema.anyOf.map(kindOf))].join(', or ');
  switch (schema.type) {
    case 'string':
      return schema.contentMediaType === undefined ? textWords(schema) : 'file';
    case 'integer':
      return ['integer', ...range(schema.minimum, schema.maximum)].join(', ');
    case 'array':
      return `list of ${schema.items ? plural(schema.items) : 'anything'}${schema.uniqueItems ? ', each once' : ''}${schema.minItems ? `, at least ${schema.minItems}` : ''}`;
    case 'object': {
      const value = mappedTo(schema);
      return value === undefined ? 'object' : `object by key, each ${kindOf(value)}`;
    }
    default:
      return schema.type ?? 'anything';
  }
}

const plural = (items: WordedSchema): string => {
  const words = kindOf(items);
  return /^(object|file|integer)$/.test(words) ? `${words}s` : words;
};

/** The schema of the values of an object that is a map; undefined for other objects. */
function mappedTo({ patternProperties, additionalProperties }: WordedSchema): WordedSchema | undefined {
  const [value] = Object.values(patternProperties ?? {});
  return value ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
}

function textWords({ format = 'text', minLength, maxLength, pattern }: WordedSchema): string {
  const length = range(minLength, maxLength).map((words) => ` of ${words} characters`);
  return [format, ...length, ...(pattern === undefined ? [] : [` matching ${pattern}`])].join('');
}

/** Describes a range; empty if it has no bounds. */
function range(low: number | undefined, high: number | undefined): readonly string[] {
  if (low !== undefined && high !== undefined) return [`${low} to ${high}`];
  if (low !== undefined) return [`at least ${low}`];
  return high === undefined ? [] : [`at most ${high}`];
}

/** User ids in responses: a JSON integer on the wire and decimal text in the program (engine/model/json.ts). */
export const UserIdOutput = Type.Unsafe<UserId>({ type: 'integer', format: 'int64', minimum: 1, title: 'UserId' });
