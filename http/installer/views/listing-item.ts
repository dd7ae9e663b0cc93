// One dataset as GET /datasets shows it.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { TargetId, UserId } from '../../../engine/model/ids.ts';
import type { ListedDataset } from '../../../engine/ports/dataset-queries.ts';
import type { ListingItem } from '../schema/listing-item.ts';
import { listedShareView, NOBODY, ownerView, type Profiles, showsPeople } from './people.ts';
import { statusBlock } from './status-block.ts';
import { typeView, visibilityView } from './terms.ts';

export interface ListingView {
  readonly viewer: UserId;
  readonly profiles: Profiles;
  readonly dataTypes: DataTypes;
  /** The request names its interface version (status-block.ts). */
  readonly versionNamed: boolean;
  /** Guests learn of no person whose dataset is not public. */
  readonly guest: boolean;
  /** Show the install status of this target alone. */
  readonly target?: TargetId | undefined;
}

/** Shares are shown to the owner: the offers that stand, accepted or not. */
export function listingItem(dataset: ListedDataset, view: ListingView): ListingItem {
  const { metadata } = dataset;
  const originalId = metadata.revisionHistory?.originalId;
  const shares = dataset.owner === view.viewer ? dataset.shares.filter((share) => share.granted) : [];
  return {
    datasetId: dataset.dataset,
    owner: ownerView(dataset.owner, showsPeople(metadata, view.guest) ? view.profiles : NOBODY),
    type: typeView(metadata.type, view.dataTypes),
    visibility: visibilityView(metadata),
    name: metadata.name,
    origin: metadata.origin,
    installTargets: [...metadata.installTargets],
    status: statusBlock(
      dataset,
      view.target ? [view.target] : metadata.installTargets,
      dataset.installs,
      view.versionNamed,
    ),
    shares: shares.map((share) => listedShareView(share, view.profiles)),
    fileCount: dataset.fileCount,
    fileSizeTotal: dataset.fileBytes,
    created: metadata.created,
    summary: metadata.summary,
    ...(metadata.description === undefined ? {} : { description: metadata.description }),
    ...(originalId === undefined || originalId === dataset.dataset ? {} : { originalId }),
  };
}

/** Everybody whose profile the item may show. */
export function peopleOf(dataset: ListedDataset, viewer: UserId): readonly UserId[] {
  return dataset.owner === viewer
    ? [dataset.owner, ...dataset.shares.filter((share) => share.granted).map((share) => share.recipient)]
    : [dataset.owner];
}
