// The type of a section once it is loaded: derived from its schema, with forms resolved and durations in milliseconds.

import type { Static, TSchema } from 'typebox';

declare const resolvesTo: unique symbol;
declare const inMilliseconds: unique symbol;

/** A value whose loaded form differs from what stands in the file. */
export interface Field<Value> {
  readonly [resolvesTo]: Value;
}
/** Text such as `1d 12h` in the file; a number under the key with `Ms` appended when loaded. */
export interface DurationField extends Field<number> {
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
