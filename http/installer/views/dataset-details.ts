// A dataset as GET /datasets/{id} shows it, in the field names of the asked interface version.

import type { ApiVersion } from '../../../engine/model/api-version.ts';
import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import { type DatasetMetadata, shortName } from '../../../engine/model/metadata.ts';
import type { InstallRecord } from '../../../engine/ports/catalog.ts';
import type { RelatedDataset, ViewedDataset } from '../../../engine/ports/dataset-queries.ts';
import type { DatasetDetails, OldDatasetDetails, RelatedDatasetOutput } from '../schema/dataset-details.ts';
import type { FileListing, OldFileListing } from '../schema/file-listing.ts';
import { ownerView, type Profiles, shareDetailsView } from './people.ts';
import { revisionHistoryView } from './revision-history.ts';
import { statusBlock } from './status-block.ts';
import { typeView, visibilityView } from './terms.ts';

export interface DetailsView {
  readonly viewer: UserId;
  readonly version: ApiVersion;
  /** The request names it (status-block.ts). */
  readonly versionNamed: boolean;
  readonly profiles: Profiles;
  readonly dataTypes: DataTypes;
  readonly installs: readonly InstallRecord[];
  readonly related: readonly RelatedDataset[];
  readonly files: FileListing | OldFileListing;
  /** Where the API is served, without a trailing slash. */
  readonly baseUrl: string;
}

export function datasetDetails(dataset: ViewedDataset, view: DetailsView): DatasetDetails | OldDatasetDetails {
  const { dataset: datasetId, metadata, owner } = dataset;
  const shown = {
    datasetId,
    ...metadataView(metadata, view.version),
    owner: ownerView(owner, view.profiles),
    type: typeView(metadata.type, view.dataTypes),
    visibility: visibilityView(metadata),
    shortName: shortName(metadata),
    revisionHistory: revisionHistoryView(datasetId, metadata, view.baseUrl),
    relatedDatasets: view.related.map((related) => relatedView(related, view.dataTypes)),
    ...(owner === view.viewer ? { shares: dataset.shares.map((share) => shareDetailsView(share, view.profiles)) } : {}),
    status: statusBlock(dataset, metadata.installTargets, view.installs, view.versionNamed),
    files: view.files,
  };
  return shown as DatasetDetails | OldDatasetDetails;
}

/** Fields of the stored document that 1.7.0 does not have. */
const NEW_FIELDS = new Set(['daysForApproval', 'dataDisclaimer', 'datasetSources']);

/** The stored fields under the version's names. `firstPublished` is ours alone. */
function metadataView(metadata: DatasetMetadata, version: ApiVersion): object {
  const old = version === '1.7.0';
  return Object.fromEntries(
    Object.entries(metadata)
      .filter(([field]) => field !== 'firstPublished' && !(old && NEW_FIELDS.has(field)))
      .map(([field, value]) => [old && field === 'datasetCharacteristics' ? 'studyCharacteristics' : field, value]),
  );
}

function relatedView(related: RelatedDataset, dataTypes: DataTypes): RelatedDatasetOutput {
  const { dataset: datasetId, type, name, summary, created, relation } = related;
  return {
    datasetId,
    type: typeView(type, dataTypes),
    name,
    summary,
    created,
    relatedBy: {
      relationType: relation.by,
      identifier: relation.identifier,
      // Deployed clients want one of every relation.
      type: relation.by === 'publication' ? relation.type : relation.by,
    },
  };
}
