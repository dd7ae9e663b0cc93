// The body of PATCH /datasets/{id} (docs/contract/installer.md#revisions-and-edits): the
// fields of a create request that may change, each in a wrapper `{value}`. A field that is absent stays as it is, `null`
// clears one that is optional, lists are replaced whole. Made from the create schema, so that the two cannot differ.

import { CLOSED, CreateDetails } from './details.ts';

/** Fields that are changed member by member: `{studyType: {value}}`. */
export const NESTED_FIELDS = ['datasetCharacteristics', 'externalIdentifiers'] as const;
export type NestedField = (typeof NESTED_FIELDS)[number];

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
export const membersOf = (field: NestedField): readonly string[] =>
  Object.keys((properties[field] as ObjectSchema).properties);

export const PatchDetails = {
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
