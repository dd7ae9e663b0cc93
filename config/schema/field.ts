// The vocabulary in which the sections are written. Each function gives one JSON Schema node that carries its static type.
// A key with a default is not `required` in the file but always there after loading, so its type is not optional.
//   x-form     how the text is checked beyond JSON Schema and what it becomes (forms.ts)
//   x-allowed  what a fault says is allowed, where the schema alone would not tell a person
//   x-forms    what a fault says when none, or more than one, of the forms of an object (`oneOf`) is there
//   x-derived  the default depends on other keys (derive.ts); says how
//   x-ignored  accepted for compatibility, without effect; says why (warnings.ts)
//   x-live     applied by a running process that reloads its file; says how (schema-node.ts)
//   writeOnly  a secret: never printed

// Only its types: a node at run time is plain JSON Schema.

import type { Static, TObject, TOptional, TProperties, TSchema, TUnsafe } from 'typebox';
import type { DatasetType } from '../../engine/model/metadata.ts';
import { DURATION_PATTERN } from '../../engine/runtime/duration.ts';
import { ADDRESS_PATTERN, HOST_PATTERN, type ServerAddress } from '../address.ts';
import type { FormName } from '../forms.ts';
import type { LiveKind } from '../schema-node.ts';

interface Extras {
  readonly 'x-allowed'?: string;
  readonly 'x-ignored'?: string;
  readonly 'x-live'?: LiveKind;
}
interface TextOptions extends Extras {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: 'uri' | 'uri-reference' | 'email';
  readonly default?: string;
  readonly writeOnly?: true;
}
interface IntegerOptions extends Extras {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly default?: number;
}

const OPTIONAL = '~optional';

const node = <Value>(schema: object): TUnsafe<Value> => schema as TUnsafe<Value>;

export const text = <Value extends string = string>(description: string, options: TextOptions = {}): TUnsafe<Value> =>
  node({ type: 'string', description, ...options });

export const secret = (description: string, minLength: number, options: TextOptions = {}): TUnsafe<string> =>
  text(description, { minLength, writeOnly: true, ...options });

/** Text with a form of its own; `Value` is what it becomes. */
export const formed = <Value>(form: FormName, description: string, options: TextOptions = {}): TUnsafe<Field<Value>> =>
  node({ type: 'string', description, 'x-form': form, ...options });

export const integer = (description: string, options: IntegerOptions = {}): TUnsafe<number> =>
  node({ type: 'integer', description, ...options });

export const flag = (description: string, value?: boolean): TUnsafe<boolean> =>
  node({ type: 'boolean', description, ...(value === undefined ? {} : { default: value }) });

export const choice = <const Value extends string>(
  description: string,
  values: readonly Value[],
  options: Extras & { readonly default?: NoInfer<Value> } = {},
): TUnsafe<Value> => node({ type: 'string', enum: [...values], description, ...options });

/** Null too, which says the same as leaving the key out. */
export const nullable = <Value>(
  schema: TUnsafe<Value>,
  options: { readonly default?: null } = {},
): TUnsafe<Value | null> => {
  const { type, enum: values, ...rest } = schema as { type?: string; enum?: readonly unknown[] };
  return node({ type: [type, 'null'], ...(values ? { enum: [...values, null] } : {}), ...rest, ...options });
};

/** `positive` refuses 0 where it would spin or never wait. */
export const duration = (
  description: string,
  value?: string,
  options: Extras & { readonly positive?: true } = {},
): TUnsafe<DurationField> => {
  const { positive, ...extras } = options;
  return node({
    type: 'string',
    minLength: 2,
    pattern: DURATION_PATTERN,
    description,
    'x-form': positive ? 'positive-duration' : 'duration',
    ...extras,
    ...(value === undefined ? {} : { default: value }),
  });
};

export const port = (description: string, options: IntegerOptions = {}): TUnsafe<number> =>
  integer(description, { minimum: 1, maximum: 65_535, ...options });

const addressNode = (description: string, extras: object): object => ({
  description,
  anyOf: [
    { type: 'string', pattern: ADDRESS_PATTERN },
    {
      type: 'object',
      properties: {
        host: { type: 'string', pattern: HOST_PATTERN, 'x-form': 'host', description: 'Host name or IP address.' },
        port: { type: 'integer', minimum: 1, maximum: 65_535, description: 'TCP port.' },
      },
      required: ['host'],
      additionalProperties: false,
    },
  ],
  'x-form': 'address',
  'x-allowed': "an address: 'host[:port]' or {host, port}",
  ...extras,
});

/** An address whose port defaults to `defaultPort`. */
export const address = (description: string, defaultPort: number): TUnsafe<Field<ServerAddress>> =>
  node(addressNode(`${description} The port defaults to ${defaultPort}.`, { 'x-port': defaultPort }));

/** An address whose default port depends on other keys; derive.ts fills it. */
export const openAddress = (description: string): TUnsafe<Field<ServerAddress>> => node(addressNode(description, {}));

export const addressList = (description: string, defaultPort: number): TUnsafe<readonly Field<ServerAddress>[]> =>
  node({ type: 'array', minItems: 1, items: address('One server.', defaultPort), description });

/** A list of addresses, or one comma-separated text. */
export const addressesOrCsv = (description: string): TUnsafe<Field<readonly ServerAddress[]>> =>
  node({
    description,
    anyOf: [
      { type: 'string', minLength: 1 },
      { type: 'array', minItems: 1, items: addressNode('One server.', {}) },
    ],
    'x-form': 'addresses',
    'x-allowed': "addresses: 'host[:port], ..', or a list of 'host[:port]' or of {host, port}",
  });

/** Text, or a number that is taken as it is written. */
export const version = (description: string): TUnsafe<Field<string>> =>
  node({
    description,
    anyOf: [
      { type: 'string', minLength: 1 },
      { type: 'number', minimum: 0 },
    ],
    'x-form': 'version',
    'x-allowed': 'a version: text of at least 1 character, or a number of at least 0',
  });

/** Types of an install target: `["*"]`, or a list of name and version. */
export const targetTypes = (description: string, item: TSchema): TUnsafe<Field<'any' | readonly DatasetType[]>> =>
  node({
    description,
    anyOf: [{ const: ['*'] }, { type: 'array', minItems: 1, uniqueItems: true, items: item }],
    default: ['*'],
    'x-form': 'target-types',
    'x-allowed': 'exactly ["*"], or a list of at least 1 {name, version}',
  });

export const falseOr = <Other extends TSchema>(
  description: string,
  other: Other,
  allowed: string,
): TUnsafe<false | Static<Other>> =>
  node({ description, anyOf: [{ const: false }, other], default: false, 'x-allowed': allowed });

/** One value for all, or a section with a value for each. */
export const oneOrEach = <One extends TSchema, Each extends TSchema>(
  description: string,
  one: One,
  each: Each,
  options: { readonly default: Static<One>; readonly 'x-allowed': string },
): TUnsafe<Static<One> | Static<Each>> => node({ description, anyOf: [one, each], ...options });

interface ListOptions extends Extras {
  readonly minItems?: number;
  readonly uniqueItems?: true;
  readonly default?: readonly unknown[];
}

export const list = <Item extends TSchema>(
  description: string,
  items: Item,
  options: ListOptions = {},
): TUnsafe<readonly Static<Item>[]> => node({ type: 'array', items, description, ...options });

/** A map with keys of the operator's choice. */
export const map = <Item extends TSchema>(
  description: string,
  values: Item,
  options: { readonly minProperties?: number } = {},
): TUnsafe<Readonly<Record<string, Static<Item>>>> =>
  node({ type: 'object', additionalProperties: values, description, ...options });

/** A map whose content is not ours to know. */
export const anyMap = (description: string): TUnsafe<Readonly<Record<string, unknown>>> =>
  node({ type: 'object', description, additionalProperties: true });

/** The key that tells the branches of a {@link union} apart. */
export const driver = <const Name extends string>(
  name: Name,
  options: { readonly isDefault?: true } = {},
): TUnsafe<Name> =>
  node({ const: name, description: `Selects '${name}'.`, ...(options.isDefault ? { default: name } : {}) });

/** Sections told apart by `driver`; the contract's form is the one whose driver is the default. */
export const union = <const Branches extends readonly TSchema[]>(
  description: string,
  branches: Branches,
): TUnsafe<Static<Branches[number]>> => node({ description, anyOf: [...branches] });

interface SectionOptions {
  /** Filled, with the defaults of its keys, when the file does not have it. */
  readonly default?: object;
  /** Keys that we do not know are kept and not a fault. */
  readonly open?: true;
  /** Further JSON Schema keywords of the whole object, such as `oneOf`. */
  readonly also?: object;
}

export const section = <Properties extends TProperties>(
  description: string,
  properties: Properties,
  options: SectionOptions = {},
): TUnsafe<Static<TObject<Properties>>> => {
  const required = Object.entries(properties).flatMap(([key, schema]) =>
    OPTIONAL in schema || 'default' in schema || 'x-derived' in schema ? [] : [key],
  );
  return node({
    type: 'object',
    description,
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: options.open ?? false,
    ...(options.default ? { default: options.default } : {}),
    ...options.also,
  });
};

export const optional = <Schema extends TSchema>(schema: Schema): TOptional<Schema> =>
  // Not enumerable, so that it is no keyword of the printed schema.
  Object.defineProperty({ ...schema }, OPTIONAL, { value: true }) as TOptional<Schema>;

/** Not required in the file, always there when loaded: derive.ts fills it as `how` says. */
export const derived = <Schema extends TSchema>(schema: Schema, how: string): Schema => ({
  ...schema,
  'x-derived': how,
});

/** A section that is there with its defaults when the file leaves it out. */
export const filled = <Properties extends TProperties>(
  description: string,
  properties: Properties,
): TUnsafe<Static<TObject<Properties>>> => section(description, properties, { default: {} });

// The type of a section once it is loaded: derived from its schema, with forms resolved and durations in milliseconds.

declare const resolvesTo: unique symbol;
declare const inMilliseconds: unique symbol;

/** A value whose loaded form differs from what stands in the file. */
interface Field<Value> {
  readonly [resolvesTo]: Value;
}
/** Text such as `1d 12h` in the file; a number under the key with `Ms` appended when loaded. */
interface DurationField extends Field<number> {
  readonly [inMilliseconds]: true;
}

/** The type of a section as it is loaded, from the type of its schema. */
export type Loaded<Schema extends TSchema> = LoadedValue<Static<Schema>>;
type LoadedValue<Value> =
  Value extends Field<infer Result>
    ? Result
    : Value extends string | number | boolean | null | undefined
      ? Value
      : Value extends readonly (infer Item)[]
        ? readonly LoadedValue<Item>[]
        : Value extends object
          ? { readonly [Key in keyof Value as LoadedKey<Key, Value[Key]>]: LoadedValue<Value[Key]> }
          : Value;
type LoadedKey<Key, Value> = NonNullable<Value> extends DurationField ? `${Key & string}Ms` : Key;
