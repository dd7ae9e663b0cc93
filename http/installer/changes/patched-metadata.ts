// The metadata document after a patch: only what the patch names changes, whatever else the stored document holds.

import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import type { FieldChange } from '../checks/details-patch.ts';
import type { CreateDetails } from '../schema/details.ts';
import { isNested } from '../schema/patch-details.ts';
import { metadataFromDetails } from '../uploads/metadata-from-details.ts';
import type { StoredDetails } from './details-from-metadata.ts';

/**
 * @param details the stored details with the changes applied; the changed ones must be sound
 * @param now when a dataset that is not private any more was published
 */
export function patchedMetadata(
  stored: DatasetMetadata,
  details: StoredDetails,
  changes: readonly FieldChange[],
  now: Date,
): DatasetMetadata {
  const changed = new Set<string>(changes.map((change) => change.path[0]));
  // Both say together who sees the dataset.
  if (changed.has('visibility') || changed.has('daysForApproval')) changed.add('visibility').add('daysForApproval');
  const converted = convert(stored, details, changed);
  const patched: Record<string, unknown> = { ...stored };
  for (const field of changed) {
    const members = changes.flatMap(({ path }) => (path[0] === field && path[1] !== undefined ? path[1] : []));
    const value = isNested(field) ? withMembers(patched[field], converted[field], members) : converted[field];
    setMember(patched, field, value);
  }
  const metadata = patched as unknown as DatasetMetadata;
  if (metadata.visibility === 'private' || metadata.firstPublished !== undefined) return metadata;
  return { ...metadata, firstPublished: now.toISOString() };
}

/** Sets the member, or takes it away when the value is undefined. */
export function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (value === undefined) delete object[key];
  else object[key] = value;
}

/** The members of an object as a copy; of anything else, none. */
export function membersIn(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** The changed fields as they are stored. Those that stay are not converted: they may be of a form that is not ours. */
function convert(
  stored: DatasetMetadata,
  details: StoredDetails,
  changed: ReadonlySet<string>,
): Record<string, unknown> {
  const unchanged = { installTargets: [], name: '', summary: '', origin: '', type: stored.type };
  const fields = Object.entries(details).filter(([field]) => changed.has(field));
  return { ...metadataFromDetails({ ...unchanged, ...Object.fromEntries(fields) } as CreateDetails, stored) };
}

/** The stored object with some members replaced; undefined when none is left. */
function withMembers(stored: unknown, converted: unknown, members: readonly string[]): object | undefined {
  const object = membersIn(stored);
  const values = membersIn(converted);
  for (const member of members) setMember(object, member, values[member]);
  return Object.keys(object).length > 0 ? object : undefined;
}
