// Validates the document against the schema: reports every fault at once, one per path. Of a union, only the faults of the
// branch that the value selects are reported.

import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { allowedBy, foundAt, keyList, suggestKey } from './describe.ts';
import { FORMS, type FormName } from './forms.ts';
import { isMap, type Path, pathOf, pointerOf, valueAt } from './path.ts';
import { branchIndex, branchOf, driversOf, isDriverUnion, nodeAt, type SchemaNode } from './schema-node.ts';

export interface Finding {
  readonly path: Path;
  readonly found: string;
  readonly allowed: string;
  /** The position of the fault is the key, not the value. */
  readonly atKey?: true;
}

/** The text of a number in the file, by path. */
export type Written = (path: Path) => string | undefined;

const ANNOTATIONS = ['x-allowed', 'x-forms', 'x-port', 'x-derived', 'x-ignored', 'x-live', 'x-shell'];

/** Finds every fault of a document. */
type Check = (document: unknown, written: Written) => readonly Finding[];

function newValidator(): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    // The check runs once, so optimizing its code costs more than it saves. Validating the schema itself is left to a test.
    code: { optimize: false },
    meta: false,
    validateSchema: false,
  });
  const { uri, email, 'uri-reference': reference } = fullFormats;
  for (const [name, format] of Object.entries({ uri, email, 'uri-reference': reference })) ajv.addFormat(name, format);
  ajv.addVocabulary(ANNOTATIONS);
  ajv.addKeyword({
    keyword: 'x-form',
    schemaType: 'string',
    validate: (form: FormName, value: unknown) => FORMS[form].accepts(value),
  });
  return ajv;
}

/** Compiling takes about 50 ms, checking almost nothing. */
export function compileCheck(schema: SchemaNode): Check {
  const check = newValidator().compile(schema);
  return (document, written) =>
    check(document)
      ? []
      : onePerPlace(fold(check.errors ?? []).map((error) => findingOf(error, schema, document, written)));
}

function onePerPlace(findings: readonly Finding[]): readonly Finding[] {
  const first = new Map<string, Finding>();
  for (const finding of findings) {
    const place = `${finding.atKey ? 'key' : 'value'} ${pointerOf(finding.path)}`;
    if (!first.has(place)) first.set(place, finding);
  }
  return [...first.values()];
}

/** Drops the faults of other branches, and the union's own fault if a branch was selected. */
function fold(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const dropped = new Set<ErrorObject>();
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') continue;
    const index = error.keyword === 'anyOf' ? branchIndex(error.parentSchema as SchemaNode, error.data) : undefined;
    if (index !== undefined) dropped.add(error);
    const kept = `${error.schemaPath}/${index}/`;
    for (const other of errors) {
      const inOtherBranch = other.schemaPath.startsWith(`${error.schemaPath}/`) && !other.schemaPath.startsWith(kept);
      if (inOtherBranch && isWithin(other.instancePath, error.instancePath)) dropped.add(other);
    }
  }
  return errors.filter((error) => !dropped.has(error) && error.keyword !== 'if');
}

const isWithin = (pointer: string, outer: string): boolean => pointer === outer || pointer.startsWith(`${outer}/`);

function findingOf(error: ErrorObject, root: SchemaNode, document: unknown, written: Written): Finding {
  const path = pathOf(error.instancePath, document);
  const value = valueAt(document, path);
  const node = nodeAt(root, document, path);
  const branch = node && branchOf(node, value);
  switch (error.keyword) {
    case 'additionalProperties': {
      const key = String(error.params.additionalProperty);
      const near = suggestKey(key, Object.keys(branch?.properties ?? {}));
      const hint = near === undefined ? '' : ` (did you mean '${near}'?)`;
      return { path: [...path, key], found: `an unknown key${hint}`, allowed: keyList(branch ?? {}), atKey: true };
    }
    case 'required':
    case 'dependentRequired': {
      const key = String(error.params.missingProperty);
      const missing = branch?.properties?.[key] ?? {};
      return { path: [...path, key], found: 'nothing', allowed: `${allowedBy(missing)} (required)` };
    }
    case 'oneOf':
      return { path, found: `the keys ${keysOf(value)}`, allowed: branch?.['x-forms'] ?? '', atKey: true };
    case 'anyOf':
      if (node && isDriverUnion(node) && isMap(value))
        return {
          path: [...path, 'driver'],
          found: foundAt({ type: 'string' }, value.driver),
          allowed: `one of ${driversOf(node).join(', ')}`,
        };
      return { path, found: foundAt(node, value, written(path)), allowed: allowedBy(node ?? {}) };
    case 'uniqueItems': {
      const { i, j } = error.params as { i: number; j: number };
      return {
        path,
        found: `items ${Math.min(i, j)} and ${Math.max(i, j)} that are equal`,
        allowed: allowedBy(branch ?? {}),
      };
    }
    default:
      // A fault inside an address or a version is reported for the whole value.
      return { path, found: foundAt(node, value, written(path)), allowed: allowedBy(node ?? {}) };
  }
}

function keysOf(value: unknown): string {
  return isMap(value) ? Object.keys(value).join(', ') || '(none)' : '(none)';
}

/** One fault of a configuration file: its position, what was found, and what is allowed. */
export interface ConfigFault {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** Key path such as `installer.lanes.import.workerCount`; empty for the file as a whole. */
  readonly path: string;
  /** Never contains a secret or the value of a placeholder. */
  readonly found: string;
  readonly allowed: string;
}

/** One line for people: `FILE:LINE:COLUMN: PATH: found .., allowed: ..`. */
export function formatFault(fault: ConfigFault): string {
  const path = fault.path === '' ? '' : `${fault.path}: `;
  return `${fault.file}:${fault.line}:${fault.column}: ${path}found ${fault.found}; allowed: ${fault.allowed}`;
}
