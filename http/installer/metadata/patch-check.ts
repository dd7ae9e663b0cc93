// Checks a dataset's details as they will be once a patch is applied, with the schema and the rules of creation. The fields of
// the patch must be sound. Elsewhere only new faults count, so that older documents, and those of compatible systems, stay
// editable.

import { type DataType, type DataTypes, typeKey } from '../../../engine/model/data-types.ts';
import { isObject } from '../../../engine/model/json.ts';
import type { DatasetMetadata, DatasetType } from '../../../engine/model/metadata.ts';
import type { Visibility } from '../../../engine/model/status.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { FaultSink, FieldPath } from '../../kernel/input/faults.ts';
import type { CreateDetails } from './create-details.ts';
import type { DetailsCheck } from './details-check.ts';
import { FaultList } from './input.ts';
import { type DetailsPatch, type FieldChange, isNested } from './patch-details.ts';
import { detailsFromMetadata, metadataFromDetails, type StoredDetails } from './stored-metadata.ts';

/**
 * The metadata document after a patch. Only what the patch names changes, whatever else the stored document has.
 * @param details the stored details with the changes applied; the changed ones must be sound
 * @param now the time of publication for a dataset that ceases to be private
 */
export function patchedMetadata(
  stored: DatasetMetadata,
  details: StoredDetails,
  changes: readonly FieldChange[],
  now: Date,
): DatasetMetadata {
  const changed = new Set<string>(changes.map((change) => change.path[0]));
  // The two fields together determine who sees the dataset.
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

/** Sets the member, or deletes it when the value is undefined. */
function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (value === undefined) delete object[key];
  else object[key] = value;
}

/** A copy of an object; an empty object for anything else. */
function membersIn(value: unknown): Record<string, unknown> {
  return isObject(value) ? { ...value } : {};
}

/** The changed fields in their stored form. The others are not converted, because another system may have written them. */
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

/** What a patch would make of a dataset. */
interface PatchOutcome {
  /** Undefined when it has a fault, or is not registered. */
  readonly type: DataType | undefined;
  readonly visibility: Visibility;
  /** The dataset stops being private. */
  readonly published: boolean;
  readonly typeChanged: boolean;
}

/** Rules that depend on more than the metadata: files, installations. */
export type FurtherRules = (outcome: PatchOutcome, faults: FaultSink) => void;

export class PatchCheck {
  readonly #details: DetailsCheck;
  readonly #dataTypes: DataTypes;

  constructor(details: DetailsCheck, dataTypes: DataTypes) {
    this.#details = details;
    this.#dataTypes = dataTypes;
  }

  /** The document as it would be stored; undefined when there are faults, all of which are then the patch's. */
  check(stored: DatasetMetadata, patch: DetailsPatch, now: Date, further: FurtherRules): DatasetMetadata | undefined {
    const before = detailsFromMetadata(stored);
    const after = overlay(before, patch.changes);
    const [was, is] = [new FaultList(), new FaultList()];
    this.#details.checkCleaned({ ...before }, was);
    this.#details.checkCleaned({ ...after }, is);
    const outcome = this.#outcome(stored, after, is);
    if (outcome.published) publishable(after, is);
    if (outcome.typeChanged) this.#typeMayChange(stored, is);
    further(outcome, is);
    const telling = new Telling(patch, outcome.published ? ['contacts'] : []);
    telling.tell(was, is);
    if (!patch.faults.empty) return undefined;
    const metadata = patchedMetadata(stored, after, patch.changes, now);
    // As in creation, the targets' own schemas wait until the rest is sound.
    this.#checkDocuments(stored, metadata, telling);
    return patch.faults.empty ? metadata : undefined;
  }

  #outcome(stored: DatasetMetadata, after: StoredDetails, faults: FaultSink): PatchOutcome {
    const visibility = faults.touches('visibility')
      ? stored.visibility
      : ((after.visibility ?? 'private') as Visibility);
    const type = faults.touches('type') ? undefined : (after.type as DatasetType);
    return {
      type: type && this.#dataTypes.find(type),
      visibility,
      published: stored.visibility === 'private' && visibility !== 'private',
      typeChanged: type !== undefined && typeKey(type) !== typeKey(stored.type),
    };
  }

  #typeMayChange(stored: DatasetMetadata, faults: FaultSink): void {
    if (this.#dataTypes.find(stored.type)?.typeChangesEnabled) return;
    faults.add(['type'], `cannot be changed: the plugin of ${quote(typeKey(stored.type))} does not allow it`);
  }

  #checkDocuments(stored: DatasetMetadata, metadata: DatasetMetadata, telling: Telling): void {
    const [was, is] = [new FaultList(), new FaultList()];
    this.#details.checkDocument(stored, was);
    this.#details.checkDocument(metadata, is);
    telling.tell(was, is);
  }
}

/** Reports faults to the caller, under the paths of the request that they come from. */
class Telling {
  readonly #patch: DetailsPatch;
  readonly #alsoSaid: readonly string[];

  /** @param alsoSaid fields that must be sound although the patch does not name them */
  constructor(patch: DetailsPatch, alsoSaid: readonly string[]) {
    this.#patch = patch;
    this.#alsoSaid = alsoSaid;
  }

  tell(before: FaultList, after: FaultList): void {
    for (const { path, sentence } of after.all) {
      const change = this.#patch.changes.find((one) => one.path.every((step, i) => path[i] === step));
      const place: FieldPath = change ? [...change.at, ...path.slice(change.path.length)] : path;
      if (change || this.#alsoSaid.includes(String(path[0])) || !before.has(path))
        this.#patch.faults.add(place, sentence);
    }
  }
}

/** The details with the changes applied. `controlled` means 0 days for approval, `protected` any other number. */
function overlay(stored: StoredDetails, changes: readonly FieldChange[]): StoredDetails {
  const details: Record<string, unknown> = { ...stored };
  for (const { path, value } of changes) {
    const [field, member] = path;
    const members = membersIn(details[field]);
    if (member !== undefined) setMember(members, member, value);
    const emptied = member !== undefined && Object.keys(members).length === 0;
    setMember(details, field, member === undefined ? value : emptied ? undefined : members);
  }
  const changed = (field: string): boolean => changes.some((change) => change.path[0] === field);
  if (!changed('visibility') || changed('daysForApproval')) return details;
  if (details.visibility === 'controlled') details.daysForApproval = 0;
  if (details.visibility === 'protected' && details.daysForApproval === 0) details.daysForApproval = -1;
  return details;
}

/** A published dataset must name a contact (docs/contract/installer.md#conditional-requirements). */
function publishable({ visibility, contacts }: StoredDetails, faults: FaultSink): void {
  if (faults.touches('contacts')) return;
  const people = (contacts ?? []) as readonly { readonly isPrimary?: boolean }[];
  if (people.length === 0) faults.add(['contacts'], `is missing; a ${visibility} dataset has at least one contact`);
  else if (!people.some((contact) => contact.isPrimary))
    faults.add(['contacts'], `has no primary contact; a ${visibility} dataset has exactly one`);
}
