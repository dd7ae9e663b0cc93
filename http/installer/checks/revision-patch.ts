// What a revision request says: a patch of the metadata that always has an origin, and a note for the history.

import type { ApiVersion } from '../../../engine/model/api-version.ts';
import { compileSchema } from '../../kernel/input/json-schema.ts';
import { REVISION_FIELDS, RevisionNote } from '../schema/revision-details.ts';
import { type DetailsPatch, readDetailsPatch, readField } from './details-patch.ts';

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
