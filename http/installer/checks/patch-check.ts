// Whether a dataset's details are still sound once a patch is applied. The same schema and rules judge them as at their
// creation. What the patch says must be sound; elsewhere only a fault counts that was not there before, so that older
// documents, and those of compatible systems, stay editable.

import { type DataType, type DataTypes, typeKey } from '../../../engine/model/data-types.ts';
import type { DatasetMetadata, DatasetType } from '../../../engine/model/metadata.ts';
import type { Visibility } from '../../../engine/model/status.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { FaultSink, FieldPath } from '../../kernel/input/faults.ts';
import { detailsFromMetadata, type StoredDetails } from '../changes/details-from-metadata.ts';
import { membersIn, patchedMetadata, setMember } from '../changes/patched-metadata.ts';
import type { DetailsCheck } from './details-check.ts';
import type { DetailsPatch, FieldChange } from './details-patch.ts';
import { FaultList } from './fault-list.ts';

/** What a patch would make of a dataset. */
export interface PatchOutcome {
  /** Undefined when it has a fault, or is not registered. */
  readonly type: DataType | undefined;
  readonly visibility: Visibility;
  /** The dataset stops being private. */
  readonly published: boolean;
  readonly typeChanged: boolean;
}

/** Rules that hang on more than the metadata: files, installations. */
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
    // As at the creation, the targets' own schemas wait until the rest is sound.
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

/** Tells the caller of faults, at the places of the request that they come from. */
class Telling {
  readonly #patch: DetailsPatch;
  readonly #alsoSaid: readonly string[];

  /** @param alsoSaid fields that must be sound although the patch does not hold them */
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

/** The details with the changes applied. `controlled` asks for 0 days for approval, `protected` for any other number. */
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

/** What others are shown must name whom to ask (docs/contract/installer.md#conditional-requirements). */
function publishable({ visibility, contacts }: StoredDetails, faults: FaultSink): void {
  if (faults.touches('contacts')) return;
  const people = (contacts ?? []) as readonly { readonly isPrimary?: boolean }[];
  if (people.length === 0) faults.add(['contacts'], `is missing; a ${visibility} dataset has at least one contact`);
  else if (!people.some((contact) => contact.isPrimary))
    faults.add(['contacts'], `has no primary contact; a ${visibility} dataset has exactly one`);
}
