// From what a client said (schema/details.ts) to the metadata document that is stored.

import { type TargetId, targetId, type UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata, Publication } from '../../../engine/model/metadata.ts';
import { readPublicationIdentifier } from '../checks/publication-identifier.ts';
import type { CreateDetails } from '../schema/details.ts';

export interface Origin {
  readonly owner: UserId;
  /** ISO 8601 UTC with milliseconds. */
  readonly created: string;
  readonly sourceUrl?: string;
}

/** Metadata that may hold undefined members, empty lists and empty objects. */
type Draft = { readonly [Field in keyof DatasetMetadata]: DatasetMetadata[Field] | undefined };

/**
 * Applies the contract's defaults; optional fields without content are left out. The list of dependencies is always there:
 * what reads stored documents relies on it. The details must be sound.
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
  // Checked before; a fault here is kept as it was written rather than lost.
  const { identifier, type } = 'fault' in read ? { identifier: input.identifier, type: input.type ?? 'pmid' } : read;
  const { citation, isPrimary = false } = input;
  return { identifier, type, ...(citation === undefined ? {} : { citation }), isPrimary };
}

/** Drops undefined members, empty lists and objects left empty, at every level. */
function withoutEmpty(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, isRecord(item) ? withoutEmpty(item) : item] as const)
      .filter(([, item]) => item !== undefined && !(Array.isArray(item) && item.length === 0))
      .filter(([, item]) => !(isRecord(item) && Object.keys(item).length === 0)),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
