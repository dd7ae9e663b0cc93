// Checks a body against a JSON Schema. Every fault is a sentence with the value found and the values allowed.

import { Ajv, type ErrorObject } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { hiddenCharacter, hiddenWords } from '../../../engine/model/file-name.ts';
import { isObject } from '../../../engine/model/json.ts';
import { counted, describeSchema, describeValue, quote } from './describe.ts';
import type { Faults, FieldPath } from './faults.ts';

/** Adds the faults of `value`, each below `path`. */
export type SchemaCheck = (value: unknown, faults: Pick<Faults, 'add'>) => void;

/**
 * We do not validate our own schemas here, because compiling the meta-schema takes longer. test/http/sound-schemas.ts does it.
 */
const OWN = {
  allErrors: true,
  verbose: true,
  strict: true,
  strictRequired: false,
  ...{ meta: false, validateSchema: false },
} as const;
/** More than {@link Faults} reports. */
const MAX_WORDED = 1_000;

/**
 * Compiles one of our own schemas at its first use. A service has a hundred of them, and compiling all of them would delay its
 * start by a third of a second. Tests check that each is valid and compiles.
 */
export function compileSchema(schema: object): SchemaCheck {
  let check: SchemaCheck | undefined;
  return (value, faults) => {
    check ??= compileWith(new Ajv2020(OWN), schema);
    check(value, faults);
    checkCharacters(value, faults);
  };
}

/**
 * Compiles a schema of the configuration: JSON Schema 2020-12, or draft-07 if its `$schema` says so. Unknown keywords are
 * ignored, as the standard requires. Throws Ajv's error when it is not a valid schema.
 */
export function compileForeignSchema(schema: object): SchemaCheck {
  const dialect = (schema as { $schema?: unknown }).$schema;
  const options = { allErrors: true, verbose: true, strict: false, logger: false } as const;
  const ajv = typeof dialect === 'string' && dialect.includes('draft-07') ? new Ajv(options) : new Ajv2020(options);
  // The package's default export is typed as a namespace under nodenext.
  (formats as unknown as (ajv: Ajv) => void)(ajv);
  return compileWith(ajv, schema);
}

function compileWith(ajv: Ajv, schema: object): SchemaCheck {
  // Ajv compares all pairs of items, so a long list of objects would block the whole server.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (unique: boolean, list: readonly unknown[]) => !unique || firstRepeat(list) === undefined,
  });
  const validate = ajv.compile(schema);
  return (value, faults) => {
    if (validate(value)) return;
    const errors = validate.errors ?? [];
    for (const error of errors.slice(0, MAX_WORDED)) report(error, value, faults);
    // These are only counted and never shown. Describing them would delay all other requests.
    for (const { instancePath } of errors.slice(MAX_WORDED))
      faults.add(instancePath.split('/', 2).slice(1), 'is wrong');
  };
}

function report(error: ErrorObject, root: unknown, faults: Pick<Faults, 'add'>): void {
  const path = toPath(error.instancePath, root);
  const schema = (error.parentSchema ?? {}) as Record<string, unknown>;
  switch (error.keyword) {
    case 'required': {
      const field = String(error.params.missingProperty);
      const properties = schema.properties as Record<string, object> | undefined;
      faults.add([...path, field], `is missing; ${describeSchema(properties?.[field] ?? {})} is required`);
      return;
    }
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const field = String(error.params.additionalProperty ?? error.params.unevaluatedProperty);
      const known = Object.keys((schema.properties as object | undefined) ?? {});
      faults.add([...path, field], `is not a known field; known are ${known.join(', ')}`);
      return;
    }
    case 'uniqueItems': {
      const [first, second] = firstRepeat(error.data as readonly unknown[]) ?? [0, 0];
      faults.add(path, `holds the same item at ${first} and ${second}; each item may stand once`);
      return;
    }
    case 'type':
      faults.add(path, `is ${describeValue(error.data)}; ${describeSchema(schema)} is required`);
      return;
    case 'enum':
      faults.add(path, `is ${describeValue(error.data)}; allowed: ${(schema.enum as unknown[]).map(quote).join(', ')}`);
      return;
    case 'minLength':
    case 'maxLength':
      faults.add(
        path,
        `has ${counted([...String(error.data)].length, 'character')}; ${describeSchema(schema)} is required`,
      );
      return;
    case 'minItems':
    case 'maxItems':
      faults.add(
        path,
        `has ${counted((error.data as unknown[]).length, 'item')}; ${describeSchema(schema)} is required`,
      );
      return;
    case 'minimum':
    case 'maximum':
      faults.add(path, `is ${describeValue(error.data)}; ${describeSchema(schema)} is required`);
      return;
    // These keywords fail only because a subschema failed, which is reported itself.
    case 'if':
    case 'allOf':
      return;
    default:
      faults.add(path, `is ${describeValue(error.data)}; it ${error.message ?? `must satisfy '${error.keyword}'`}`);
  }
}

/** Converts a JSON pointer to a path. Steps into lists become numbers. */
function toPath(pointer: string, root: unknown): FieldPath {
  const path: (string | number)[] = [];
  let at = root;
  for (const escaped of pointer.split('/').slice(1)) {
    const step = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(at) ? Number(step) : step);
    at = (at as Record<string, unknown> | undefined)?.[step];
  }
  return path;
}

/** Positions of the first two equal items. The order of keys does not matter. */
function firstRepeat(list: readonly unknown[]): readonly [number, number] | undefined {
  const seen = new Map<string, number>();
  for (const [i, item] of list.entries()) {
    const text = canonical(item);
    const before = seen.get(text);
    if (before !== undefined) return [before, i];
    seen.set(text, i);
  }
  return undefined;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isObject(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

// Rejects hidden characters in texts of users. Line breaks are allowed only in fields that may have several lines.

/** Names of fields that may have several lines, at any depth. All other fields are single-line names, words and addresses. */
const SEVERAL_LINES: ReadonlySet<string | number> = new Set([
  'affiliation',
  'analysisPlan',
  'citation',
  'dataDisclaimer',
  'denialReason',
  'description',
  'disseminationPlan',
  'priorAuth',
  'purpose',
  'researchQuestion',
  'revisionNote',
  'summary',
]);

/** Returns the sentence that describes the fault; undefined when there is none. */
export function characterFault(text: string, lines: boolean): string | undefined {
  const found = hiddenCharacter(text, lines);
  if (found) return `holds ${hiddenWords(found)}; ${lines ? 'text' : 'one line of text'} without such is required`;
  return text.isWellFormed() ? undefined : 'holds half of a surrogate pair, which is no character';
}

/** Adds a fault for each text in `value` that has a hidden character. */
export function checkCharacters(value: unknown, faults: Pick<Faults, 'add'>, path: FieldPath = []): void {
  if (typeof value === 'string') {
    // A patch wraps the new value in an object, so the name of the field may be further up.
    const lines = path.some((step) => SEVERAL_LINES.has(step));
    const fault = characterFault(value, lines);
    if (fault !== undefined) faults.add(path, fault);
  } else if (Array.isArray(value)) for (const [i, item] of value.entries()) checkCharacters(item, faults, [...path, i]);
  else if (typeof value === 'object' && value !== null)
    for (const [name, item] of Object.entries(value)) checkCharacters(item, faults, [...path, name]);
}
