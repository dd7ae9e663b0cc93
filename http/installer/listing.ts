// The datasets of a listing, ready to be shown, in constant memory.

import type { DataTypes } from '../../engine/model/data-types.ts';
import type { Accounts } from '../../engine/ports/accounts.ts';
import type { DatasetQueries, ListedDataset, ListFilter } from '../../engine/ports/dataset-queries.ts';
import { findProfiles } from './profiles.ts';
import type { ListingItem } from './schema/listing-item.ts';
import { listingItem, peopleOf } from './views/listing-item.ts';

/** Datasets whose people are looked up at once. */
const BATCH = 100;

export interface ListingSources {
  readonly queries: Pick<DatasetQueries, 'list'>;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly dataTypes: DataTypes;
}

export async function* listing(
  sources: ListingSources,
  filter: ListFilter,
  signal: AbortSignal,
): AsyncGenerator<ListingItem, void, undefined> {
  for await (const batch of batches(sources.queries.list(filter, signal))) {
    const people = batch.flatMap((dataset) => peopleOf(dataset, filter.viewer));
    const profiles = await findProfiles(sources.accounts, people, signal);
    const view = { viewer: filter.viewer, profiles, dataTypes: sources.dataTypes, target: filter.target };
    for (const dataset of batch) yield listingItem(dataset, view);
  }
}

async function* batches(datasets: AsyncIterable<ListedDataset>): AsyncGenerator<ListedDataset[]> {
  let batch: ListedDataset[] = [];
  for await (const dataset of datasets) {
    batch.push(dataset);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
