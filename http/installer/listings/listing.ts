// The datasets of a listing, ready to be shown, in constant memory.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { Accounts } from '../../../engine/ports/accounts.ts';
import type { DatasetQueries, ListFilter } from '../../../engine/ports/dataset-queries.ts';
import type { RequestContext } from '../../context.ts';
import { findProfiles } from '../details/profiles.ts';
import type { ListingItem } from '../schema/listing-item.ts';
import { listingItem, peopleOf } from '../views/listing-item.ts';
import type { Profiles } from '../views/people.ts';
import { inBatches } from './batches.ts';

export interface ListingSources {
  readonly queries: Pick<DatasetQueries, 'list'>;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly dataTypes: DataTypes;
}

export async function* listing(
  sources: ListingSources,
  filter: ListFilter,
  { caller, signal, versionNamed }: Pick<RequestContext, 'caller' | 'signal' | 'versionNamed'>,
): AsyncGenerator<ListingItem, void, undefined> {
  // Most of a listing is of few people: those of one batch are mostly those of the next.
  let profiles: Profiles | undefined;
  for await (const batch of inBatches(sources.queries.list(filter, signal))) {
    const people = batch.flatMap((dataset) => peopleOf(dataset, filter.viewer));
    profiles = await findProfiles(sources.accounts, people, signal, profiles);
    const guest = caller.kind === 'guest';
    const { viewer, target } = filter;
    const view = { viewer, guest, versionNamed, profiles, dataTypes: sources.dataTypes, target };
    for (const dataset of batch) yield listingItem(dataset, view);
  }
}
