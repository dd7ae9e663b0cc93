// What a request wants changed of a dataset's details, taken out of its wrappers. Only the form of the wrappers is judged
// here; whether the values are sound is asked of the details as they will be (patch-check.ts).

import type { ApiVersion } from '../../../engine/model/api-version.ts';
import { describeValue } from '../../kernel/input/describe.ts';
import { Faults, type FieldPath } from '../../kernel/input/faults.ts';
import { isNested, membersOf, type NestedField, PATCHABLE_FIELDS } from '../schema/patch-details.ts';
import { clean } from './clean.ts';
import { callersNames, OLD_CHARACTERISTICS } from './details-check.ts';

export interface FieldChange {
  /** `['name']`, or `['datasetCharacteristics', 'countries']`. */
  readonly path: readonly [field: string] | readonly [field: NestedField, member: string];
  /** Where the value stands in the request: `['name', 'value']`. */
  readonly at: FieldPath;
  /** Clean; undefined = cleared. */
  readonly value: unknown;
}

export interface DetailsPatch {
  readonly changes: readonly FieldChange[];
  /** In the caller's spelling; later checks of the same request add theirs. */
  readonly faults: Faults;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** What a dataset is told apart by, or what the service itself keeps. */
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
 * @param version whose field names the faults use, unless the body already uses the others
 * @param besides fields of the same object that somebody else reads
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

/** A field that may come without its wrapper: what it says, and where. */
export function readField(body: unknown, field: string, faults: Faults): FieldChange {
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

/** The change, or none after its fault was added. */
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

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
