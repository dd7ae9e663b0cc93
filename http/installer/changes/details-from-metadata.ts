// From the stored metadata document back to the details that a client would have sent for it: the reverse of
// metadata-from-details.ts. Documents of compatible systems may hold more, and less sound, than our own.

import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import { clean } from '../checks/clean.ts';
import { FaultList } from '../checks/fault-list.ts';
import { CreateDetails } from '../schema/details.ts';

/** Details that nobody has judged: only the fields that a create request has, without nulls and blank text. */
export type StoredDetails = Readonly<Record<string, unknown>>;

const FIELDS: readonly string[] = Object.keys(CreateDetails.properties);

export function detailsFromMetadata(metadata: DatasetMetadata): StoredDetails {
  const known = Object.entries(metadata).filter(([field]) => FIELDS.includes(field));
  const details = clean(Object.fromEntries(known), new FaultList()) as StoredDetails;
  // The computed word of the API, as some older documents hold it.
  return details.visibility === 'controlled' ? { ...details, visibility: 'protected', daysForApproval: 0 } : details;
}
