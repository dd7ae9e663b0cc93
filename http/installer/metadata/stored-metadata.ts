// Converts the details that a client sends (create-details.ts) into the metadata document that is stored, and back.

import { type TargetId, targetId, type UserId } from '../../../engine/model/ids.ts';
import { isObject } from '../../../engine/model/json.ts';
import type { DatasetMetadata, Publication } from '../../../engine/model/metadata.ts';
import { CreateDetails } from './create-details.ts';
import { readPublicationIdentifier } from './details-rules.ts';
import { clean, FaultList } from './input.ts';

interface Origin {
  readonly owner: UserId;
  /** ISO 8601 UTC with milliseconds. */
  readonly created: string;
  readonly sourceUrl?: string;
}

/** Metadata that may hold undefined members, empty lists and empty objects. */
type Draft = { readonly [Field in keyof DatasetMetadata]: DatasetMetadata[Field] | undefined };

/**
 * Applies the contract's defaults and leaves out optional fields without content. The list of dependencies is always there,
 * because readers of stored documents rely on it. The details must be sound.
 */
export function metadataFromDetails(details: CreateDetails, origin: Origin): DatasetMetadata {
  const { visibility: asked = 'private', daysForApproval = -1, type, publications, contacts, ...rest } = details;
  const dependencies = details.dependencies ?? [];
  const visibility = asked === 'controlled' ? 'protected' : asked;
  const draft: Draft = {
    ...rest,
    dependencies,
    type: { name: type.name.toLowerCase(), version: type.version },
    installTargets: details.installTargets.map(targetId) as readonly TargetId[],
    visibility,
    owner: origin.owner,
    created: origin.created,
    sourceUrl: origin.sourceUrl,
    publications: publications?.map(toPublication),
    contacts: contacts?.map((contact) => ({ ...contact, isPrimary: contact.isPrimary ?? false })),
    daysForApproval: asked === 'controlled' ? 0 : daysForApproval,
    firstPublished: visibility === 'private' ? undefined : origin.created,
  };
  return { ...withoutEmpty(draft), dependencies } as unknown as DatasetMetadata;
}

function toPublication(input: NonNullable<CreateDetails['publications']>[number]): Publication {
  const read = readPublicationIdentifier(input);
  // Was checked before. A faulty identifier is kept as it was written rather than lost.
  const { identifier, type } = 'fault' in read ? { identifier: input.identifier, type: input.type ?? 'pmid' } : read;
  const { citation, isPrimary = false } = input;
  return { identifier, type, ...(citation === undefined ? {} : { citation }), isPrimary };
}

/** Drops undefined members, empty lists and objects left empty, at every level. */
function withoutEmpty(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, isObject(item) ? withoutEmpty(item) : item] as const)
      .filter(([, item]) => item !== undefined && !(Array.isArray(item) && item.length === 0))
      .filter(([, item]) => !(isObject(item) && Object.keys(item).length === 0)),
  );
}

/** Details that were not checked: only the fields of a create request, without nulls and blank text. */
export type StoredDetails = Readonly<Record<string, unknown>>;

/** The type holds only while the stored document has every field of a create request. */
const FIELDS: readonly (keyof DatasetMetadata)[] = Object.keys(CreateDetails.properties) as (keyof CreateDetails)[];

const isOfRequest = (field: string): boolean => (FIELDS as readonly string[]).includes(field);

/**
 * The details that a client would have sent for the stored document. Documents of compatible systems may have more fields
 * than ours, and faulty ones.
 */
export function detailsFromMetadata(metadata: DatasetMetadata): StoredDetails {
  const known = Object.entries(metadata).filter(([field]) => isOfRequest(field));
  const details = clean(Object.fromEntries(known), new FaultList()) as StoredDetails;
  // Some older documents store the visibility that the API computes.
  return details.visibility === 'controlled' ? { ...details, visibility: 'protected', daysForApproval: 0 } : details;
}
