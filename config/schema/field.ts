// The vocabulary in which the sections are written. Each function returns one JSON Schema node with its static type. A key with
// a default is not `required` in the file but always present after loading, so its type is not optional.
//   x-form     how the text is checked beyond JSON Schema and converted (forms.ts)
//   x-allowed  the words of a fault for what is allowed, where the schema alone does not explain it
//   x-forms    the words of a fault when an object has none, or more than one, of its forms (`oneOf`)
//   x-derived  the default depends on other keys (derive.ts); says how
//   x-ignored  accepted for compatibility, without effect; says why (warnings.ts)
//   x-live     applied by a running process that reloads its file; says how (schema-node.ts)
//   x-shell    text that a shell may read, so `${NAME}` in it is kept (secrets.ts)
//   writeOnly  a secret; never printed
// Of typebox only the types: a node at run time is plain JSON Schema.

import type { Static, TObject, TOptional, TProperties, TSchema, TUnsafe } from 'typebox';
import type { DatasetType } from '../../engine/model/metadata.ts';
import { DURATION_PATTERN } from '../../engine/runtime/duration.ts';
import { ADDRESS_PATTERN, HOST_PATTERN, type ServerAddress } from '../address.ts';
import type { FormName } from '../forms.ts';
import type { LiveKind } from '../schema-node.ts';
import { SIZE_PATTERN } from '../size.ts';

interface Extras {
  readonly 'x-allowed'?: string;
  readonly 'x-ignored'?: string;
  readonly 'x-live'?: LiveKind;
  readonly 'x-shell'?: true;
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

/** Text with a form; `Value` is the type after loading. */
export const formed = <Value>(form: FormName, description: string, options: TextOptions = {}): TUnsafe<Field<Value>> =>
  node({ type: 'string', description, 'x-form': form, ...options });

export const integer = (description: string, options: IntegerOptions = {}): TUnsafe<number> =>
  node({ type: 'integer', description, ...options });

/** Bytes. In the file also text such as `10GB` (size.ts). */
export const size = (description: string, options: IntegerOptions = {}): TUnsafe<number> => {
  const { minimum, maximum } = options;
  const low = minimum === undefined || minimum === 0 ? undefined : `at least ${minimum}`;
  const high = maximum === undefined ? undefined : `at most ${maximum}`;
  const bounds = [low, high].filter((bound) => bound !== undefined).join(' and ');
  return node({
    type: ['integer', 'string'],
    pattern: SIZE_PATTERN,
    description,
    'x-form': 'size',
    'x-allowed': `a size${bounds && ` of ${bounds}`}${UNITS_ALLOWED}`,
    ...options,
  });
};
/** What follows each size in a fault. */
export const UNITS_ALLOWED = ' (bytes, or with a unit such as 512MB or 10GiB)';

export const flag = (description: string, value?: boolean): TUnsafe<boolean> =>
  node({ type: 'boolean', description, ...(value === undefined ? {} : { default: value }) });

export const choice = <const Value extends string>(
  description: string,
  values: readonly Value[],
  options: Extras & { readonly default?: NoInfer<Value> } = {},
): TUnsafe<Value> => node({ type: 'string', enum: [...values], description, ...options });

/** Also accepts null, which means the same as an absent key. */
export const nullable = <Value>(
  schema: TUnsafe<Value>,
  options: { readonly default?: null } = {},
): TUnsafe<Value | null> => {
  const { type, enum: values, ...rest } = schema as { type?: string; enum?: readonly unknown[] };
  return node({ type: [type, 'null'], ...(values ? { enum: [...values, null] } : {}), ...rest, ...options });
};

/** `positive` refuses 0, where it would cause a busy loop or no wait at all. */
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

/** Text, or a number as it is written in the file. */
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

/** One value for all, or a section with one value for each. */
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

/** A map whose keys the operator chooses. */
export const map = <Item extends TSchema>(
  description: string,
  values: Item,
  options: { readonly minProperties?: number } = {},
): TUnsafe<Readonly<Record<string, Static<Item>>>> =>
  node({ type: 'object', additionalProperties: values, description, ...options });

/** A map whose content we do not check. */
export const anyMap = (description: string): TUnsafe<Readonly<Record<string, unknown>>> =>
  node({ type: 'object', description, additionalProperties: true });

/** The key that selects the branch of a {@link union}. */
export const driver = <const Name extends string>(
  name: Name,
  options: { readonly isDefault?: true } = {},
): TUnsafe<Name> =>
  node({ const: name, description: `Selects '${name}'.`, ...(options.isDefault ? { default: name } : {}) });

/** Alternative sections, selected by `driver`. The default driver is that of the contract's form. */
export const union = <const Branches extends readonly TSchema[]>(
  description: string,
  branches: Branches,
): TUnsafe<Static<Branches[number]>> => node({ description, anyOf: [...branches] });

interface SectionOptions {
  /** If the file does not have the section, it is added with the defaults of its keys. */
  readonly default?: object;
  /** Unknown keys are kept and are no fault. */
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
  // Not enumerable, so that it does not appear in the printed schema.
  Object.defineProperty({ ...schema }, OPTIONAL, { value: true }) as TOptional<Schema>;

/** Optional in the file, always present after loading: derive.ts sets it as `how` describes. */
export const derived = <Schema extends TSchema>(schema: Schema, how: string): Schema => ({
  ...schema,
  'x-derived': how,
});

/** A section that is added with its defaults if the file does not have it. */
export const filled = <Properties extends TProperties>(
  description: string,
  properties: Properties,
): TUnsafe<Static<TObject<Properties>>> => section(description, properties, { default: {} });

declare const resolvesTo: unique symbol;
declare const inMilliseconds: unique symbol;

/** A value whose loaded form differs from its form in the file. */
interface Field<Value> {
  readonly [resolvesTo]: Value;
}
/** In the file, text such as `1d 12h`. When loaded, a number of milliseconds, under the key with `Ms` appended. */
interface DurationField extends Field<number> {
  readonly [inMilliseconds]: true;
}

/** The type of a loaded section, derived from its schema: forms are resolved, durations are in milliseconds. */
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
