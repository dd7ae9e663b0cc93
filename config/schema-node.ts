// The schema as the loader walks it: together with a value, which selects the branch of a union; and its live settings.

import { isDeepStrictEqual } from 'node:util';
import type { FormName } from './forms.ts';
import { displayPath, isMap, type Path } from './path.ts';

/** The JSON Schema keywords that our sections use, plus our annotations (schema/field.ts). */
export interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: boolean | SchemaNode;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly then?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly minProperties?: number;
  readonly uniqueItems?: boolean;
  readonly writeOnly?: boolean;
  readonly 'x-form'?: FormName;
  readonly 'x-allowed'?: string;
  readonly 'x-forms'?: string;
  readonly 'x-port'?: number;
  readonly 'x-derived'?: string;
  readonly 'x-ignored'?: string;
  readonly 'x-live'?: LiveKind;
  readonly 'x-shell'?: true;
}

/**
 * The branch of a union that applies to a value: the branch whose `driver` the value names (or the default driver), else the
 * first branch of its type; undefined when none fits. A node that is no union is its own branch.
 */
export function branchOf(schema: SchemaNode, value: unknown): SchemaNode | undefined {
  const index = branchIndex(schema, value);
  return index === undefined ? undefined : (schema.anyOf?.[index] ?? schema);
}

/** The index of that branch; 0 for a node that is no union. */
export function branchIndex(schema: SchemaNode, value: unknown): number | undefined {
  if (!schema.anyOf) return 0;
  const fits = isDriverUnion(schema)
    ? (branch: SchemaNode) => isMap(value) && isDriver(branch, value.driver)
    : (branch: SchemaNode) => ('const' in branch ? isDeepStrictEqual(branch.const, value) : typeFits(branch, value));
  const index = schema.anyOf.findIndex(fits);
  return index === -1 ? undefined : index;
}

export const isDriverUnion = (schema: SchemaNode): boolean =>
  schema.anyOf?.every((branch) => branch.properties?.driver?.const !== undefined) ?? false;

/** The drivers of a driver union. */
export const driversOf = (schema: SchemaNode): readonly string[] =>
  (schema.anyOf ?? []).map((branch) => String(branch.properties?.driver?.const));

function isDriver(branch: SchemaNode, driver: unknown): boolean {
  const own = branch.properties?.driver;
  return driver === undefined ? own?.default !== undefined : own?.const === driver;
}

/** The type of a value in JSON Schema's words; a whole number is an `integer`. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** True when the node, or one of its branches, accepts values of this type. */
export function takesType(schema: SchemaNode, type: string): boolean {
  if (schema.anyOf) return schema.anyOf.some((branch) => takesType(branch, type));
  if ('const' in schema) return typeOf(schema.const) === type;
  const types = schema.type === undefined ? [] : [schema.type].flat();
  return types.length === 0 || types.includes(type) || (type === 'integer' && types.includes('number'));
}

const typeFits = (schema: SchemaNode, value: unknown): boolean => takesType(schema, typeOf(value));

/** The node of a key or an item of a value; undefined if the schema has none. */
export function childOf(schema: SchemaNode, value: unknown, step: string | number): SchemaNode | undefined {
  const branch = branchOf(schema, value);
  if (!branch) return undefined;
  if (typeof step === 'number') return branch.items;
  const own = branch.properties;
  if (own && Object.hasOwn(own, step)) return own[step];
  return typeof branch.additionalProperties === 'object' ? branch.additionalProperties : undefined;
}

/** The node at a path of the document. */
export function nodeAt(root: SchemaNode, document: unknown, path: Path): SchemaNode | undefined {
  let schema: SchemaNode | undefined = root;
  let value = document;
  for (const step of path) {
    if (!schema) return undefined;
    schema = childOf(schema, value, step);
    value = (value as Record<string | number, unknown> | undefined)?.[step];
  }
  return schema;
}

/**
 * How settings take effect that a running process applies when it reloads its file (`x-live` in the schema), in words for
 * people. bin/compose/live-settings.ts has a handler for each kind.
 */
export const LIVE_KINDS = {
  'lane-bounds': 'applies immediately; running jobs finish',
  'daemon-interval': 'applies immediately, measured from the start of the last run',
  'plugin-timeouts': 'applies to calls that start afterwards',
  'history-retention': 'applies at the next hourly run',
  'upload-expiry': 'applies to uploads that are created or continued afterwards',
  'log-level': 'applies immediately',
} as const;
export type LiveKind = keyof typeof LIVE_KINDS;

/** Every live setting of a schema; `*` stands for the keys of a map. */
export function liveSettings(
  schema: SchemaNode,
  path: Path = [],
): readonly { readonly path: string; readonly kind: LiveKind }[] {
  const kind = schema['x-live'];
  if (kind !== undefined) return [{ path: displayPath(path).replaceAll('["*"]', '.*'), kind }];
  const { properties = {}, additionalProperties, items, anyOf = [] } = schema;
  const below: readonly (readonly [Path, SchemaNode])[] = [
    ...Object.entries(properties).map(([key, child]) => [[...path, key], child] as const),
    ...(typeof additionalProperties === 'object' ? [[[...path, '*'], additionalProperties] as const] : []),
    ...(items ? [[[...path, '*'], items] as const] : []),
    ...anyOf.map((branch) => [path, branch] as const),
  ];
  return below.flatMap(([at, child]) => liveSettings(child, at));
}
