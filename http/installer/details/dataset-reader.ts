// Everything that GET /datasets/{id} shows, gathered: metadata and mirror from the cache, archive sizes from the store,
// names of people, related datasets, and the install status as the targets themselves tell it where that is wired in.

import type { ApiVersion } from '../../../engine/model/api-version.ts';
import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import type { Accounts } from '../../../engine/ports/accounts.ts';
import type { InstallRecord } from '../../../engine/ports/catalog.ts';
import type { DatasetQueries, ViewedDataset } from '../../../engine/ports/dataset-queries.ts';
import { type FileSources, listFiles } from '../files/dataset-files.ts';
import type { DatasetDetails, OldDatasetDetails } from '../schema/dataset-details.ts';
import { datasetDetails } from '../views/dataset-details.ts';
import { findProfiles } from './profiles.ts';

/** The newest install status of every target of the dataset; what a target does not tell comes from the mirror. */
export type InstallStatusSource = (dataset: ViewedDataset, signal: AbortSignal) => Promise<readonly InstallRecord[]>;

export interface DetailsSources extends FileSources {
  readonly queries: Pick<DatasetQueries, 'files' | 'related'>;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly dataTypes: DataTypes;
  /** Absent = the mirror in the cache. */
  readonly installStatus?: InstallStatusSource;
}

export interface DetailsAsker {
  readonly viewer: UserId;
  readonly version: ApiVersion;
  readonly versionNamed: boolean;
  /** Where the API is served, without a trailing slash. */
  readonly baseUrl: string;
}

export async function readDetails(
  sources: DetailsSources,
  dataset: ViewedDataset,
  asker: DetailsAsker,
  signal: AbortSignal,
): Promise<DatasetDetails | OldDatasetDetails> {
  const { viewer, version } = asker;
  const people = dataset.owner === viewer ? dataset.shares.map((share) => share.recipient) : [];
  const [files, profiles, related, installs] = await Promise.all([
    listFiles(sources, dataset, version, signal),
    findProfiles(sources.accounts, [dataset.owner, ...people], signal),
    sources.queries.related(dataset.dataset, dataset.metadata, viewer, signal),
    sources.installStatus?.(dataset, signal) ?? dataset.installs,
  ]);
  return datasetDetails(dataset, { ...asker, profiles, dataTypes: sources.dataTypes, installs, related, files });
}
