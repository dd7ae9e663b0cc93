// The body of PATCH /datasets/{id} (docs/contract/installer.md#revisions-and-edits): the fields of a create request that may
// change, each in a wrapper `{value}`. An absent field stays as it is, `null` clears an optional field, lists are replaced as a
// whole. The schema is derived from the create schema, so the two cannot differ. The part `details` of PUT /datasets/{id} is
// such a patch with an origin and a note for the history, which may come without a wrapper.
//
// Only the form of the wrappers is checked here. patch-check.ts checks the details that result.

import type { ApiVersion } from '../../../engine/model/api-version.ts';
import { isObject } from '../../../engine/model/json.ts';
import { describeValue } from '../../kernel/input/describe.ts';
import { Faults, type FieldPath } from '../../kernel/input/faults.ts';
import { compileSchema } from '../../kernel/input/json-schema.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { CLOSED, CreateDetails } from './create-details.ts';
import { callersNames, OLD_CHARACTERISTICS } from './details-check.ts';
import { clean } from './input.ts';

/** Fields that are changed member by member: `{studyType: {value}}`. */
const NESTED_FIELDS = ['datasetCharacteristics', 'externalIdentifiers'] as const;
type NestedField = (typeof NESTED_FIELDS)[number];

/** Fields of a create request that a dataset keeps for good. */
const KEPT_FIELDS: readonly string[] = ['installTargets', 'origin', 'dependencies'];

interface ObjectSchema {
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

const { properties, required = [] } = CreateDetails as ObjectSchema;

export const PATCHABLE_FIELDS: readonly string[] = Object.keys(properties).filter(
  (field) => !KEPT_FIELDS.includes(field),
);

export const isNested = (field: string): field is NestedField => (NESTED_FIELDS as readonly string[]).includes(field);

/** Names of the members of a nested field. */
const membersOf = (field: NestedField): readonly string[] =>
  Object.keys((properties[field] as ObjectSchema).properties);

export const PatchDetails = {
  title: 'DatasetPatch',
  type: 'object',
  properties: Object.fromEntries(
    PATCHABLE_FIELDS.map((field) => {
      const schema = properties[field] ?? {};
      return [
        field,
        isNested(field) ? wrappedMembers(schema as ObjectSchema) : wrapped(schema, !required.includes(field)),
      ];
    }),
  ),
  ...CLOSED,
} as const;

function wrappedMembers(schema: ObjectSchema): object {
  const members = Object.entries(schema.properties).map(([name, member]) => [name, wrapped(member, true)] as const);
  return { type: 'object', properties: Object.fromEntries(members), ...CLOSED };
}

function wrapped(schema: object, clearable: boolean): object {
  const value = clearable ? { anyOf: [{ ...schema }, { type: 'null' }] } : { ...schema };
  return { type: 'object', properties: { value }, required: ['value'], ...CLOSED };
}

const RevisionNote = Type.Named('RevisionNote', { revisionNote: Type.String({ minLength: 10, maxLength: 4096 }) });

/** Fields of a revision that a patch does not have. */
const REVISION_FIELDS = ['origin', 'revisionNote'] as const;

const plainOrWrapped = (schema: object): object => ({
  anyOf: [{ ...schema }, { type: 'object', properties: { value: { ...schema } }, required: ['value'], ...CLOSED }],
});

export const RevisionDetails = {
  ...PatchDetails,
  title: 'NewRevision',
  properties: {
    ...PatchDetails.properties,
    origin: plainOrWrapped(CreateDetails.properties.origin),
    revisionNote: plainOrWrapped(RevisionNote.properties.revisionNote),
  },
  required: [...REVISION_FIELDS],
} as const;

export interface FieldChange {
  /** `['name']`, or `['datasetCharacteristics', 'countries']`. */
  readonly path: readonly [field: string] | readonly [field: NestedField, member: string];
  /** The path of the value in the request: `['name', 'value']`. */
  readonly at: FieldPath;
  /** Clean; undefined = cleared. */
  readonly value: unknown;
}

export interface DetailsPatch {
  readonly changes: readonly FieldChange[];
  /** In the caller's spelling; later checks of the same request add theirs. */
  readonly faults: Faults;
}

/** Fields that identify a dataset, or that the service maintains. */
const FIXED_FIELDS = new Set([
  'installTargets',
  'origin',
  'dependencies',
  'owner',
  'created',
  'sourceUrl',
  'datasetId',
  'revisionHistory',
  'firstPublished',
  'shortName',
]);

/**
 * @param version faults use the field names of this version, unless the body uses those of the other
 * @param besides fields of the same object that the caller reads
 */
export function readDetailsPatch(body: unknown, version: ApiVersion, besides: readonly string[] = []): DetailsPatch {
  const faults = new Faults(callersNames(body, version));
  const changes: FieldChange[] = [];
  if (!isObject(body)) {
    faults.add([], 'details must be a JSON object');
    return { changes, faults };
  }
  for (const [key, wrapper] of Object.entries(body)) {
    if (besides.includes(key)) continue;
    if (key === OLD_CHARACTERISTICS && 'datasetCharacteristics' in body) {
      faults.add([key], 'is the old name of datasetCharacteristics; only one of them may be given');
      continue;
    }
    const field = key === OLD_CHARACTERISTICS ? 'datasetCharacteristics' : key;
    if (!PATCHABLE_FIELDS.includes(field)) faults.add([field], refusal(field, besides));
    else if (isNested(field)) changes.push(...readMembers(wrapper, field, faults));
    else changes.push(...readWrapper(wrapper, [field], faults));
  }
  return { changes, faults };
}

function refusal(field: string, besides: readonly string[]): string {
  const changeable = [...PATCHABLE_FIELDS, ...besides].join(', ');
  if (!FIXED_FIELDS.has(field)) return `is not a known field; known are ${changeable}`;
  return `cannot be changed${field === 'origin' ? ', except by a revision' : ''}; changeable are ${changeable}`;
}

/** Reads a field that may come without its wrapper. */
function readField(body: unknown, field: string, faults: Faults): FieldChange {
  const given = isObject(body) ? body[field] : undefined;
  if (isObject(given) && Object.hasOwn(given, 'value')) {
    const [change] = readWrapper(given, [field], faults);
    if (change) return change;
  }
  return { path: [field], at: [field], value: clean(given, faults, [field]) };
}

function readMembers(members: unknown, field: NestedField, faults: Faults): FieldChange[] {
  if (!isObject(members)) {
    faults.add([field], `is ${describeValue(members)}; an object is required, with a value for each of its fields`);
    return [];
  }
  const known = membersOf(field);
  return Object.entries(members).flatMap(([member, wrapper]) => {
    if (known.includes(member)) return readWrapper(wrapper, [field, member], faults);
    faults.add([field, member], `is not a known field; known are ${known.join(', ')}`);
    return [];
  });
}

/** The change; none after a fault was added. */
function readWrapper(wrapper: unknown, path: FieldChange['path'], faults: Faults): FieldChange[] {
  if (!isObject(wrapper)) {
    faults.add(path, `is ${describeValue(wrapper)}; an object with a 'value' is required, where null clears the field`);
    return [];
  }
  for (const key of Object.keys(wrapper))
    if (key !== 'value') faults.add([...path, key], 'is not a known field; known are value');
  const at = [...path, 'value'];
  if (!Object.hasOwn(wrapper, 'value')) {
    faults.add(at, 'is missing; null clears the field');
    return [];
  }
  return [{ path, at, value: clean(wrapper.value, faults, at) }];
}

export interface RevisionPatch extends DetailsPatch {
  /** Undefined when it has a fault. */
  readonly note: string | undefined;
}

const checkNote = compileSchema(RevisionNote);

export function readRevisionPatch(body: unknown, version: ApiVersion): RevisionPatch {
  const { changes, faults } = readDetailsPatch(body, version, REVISION_FIELDS);
  const note = readField(body, 'revisionNote', faults);
  checkNote(note.value === undefined ? {} : { revisionNote: note.value }, {
    add: (_path, sentence) => faults.add(note.at, sentence),
  });
  return {
    changes: [...changes, readField(body, 'origin', faults)],
    faults,
    note: faults.touches('revisionNote') ? undefined : (note.value as string),
  };
}
