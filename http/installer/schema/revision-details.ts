// The part `details` of PUT /datasets/{id} (docs/contract/installer.md#revisions-and-edits): a patch, and what every revision
// says of itself. The latter two may come in a wrapper too.

import { Type } from '../../kernel/openapi/schema-node.ts';
import { CLOSED, CreateDetails } from './details.ts';
import { PatchDetails } from './patch-details.ts';

export const RevisionNote = Type.Object({ revisionNote: Type.String({ minLength: 10, maxLength: 4096 }) });

/** Fields of a revision that a patch does not have. */
export const REVISION_FIELDS = ['origin', 'revisionNote'] as const;

const plainOrWrapped = (schema: object): object => ({
  anyOf: [{ ...schema }, { type: 'object', properties: { value: { ...schema } }, required: ['value'], ...CLOSED }],
});

export const RevisionDetails = {
  ...PatchDetails,
  properties: {
    ...PatchDetails.properties,
    origin: plainOrWrapped(CreateDetails.properties.origin),
    revisionNote: plainOrWrapped(RevisionNote.properties.revisionNote),
  },
  required: [...REVISION_FIELDS],
} as const;
