// The datasets of a listing, ready to be shown, in constant memory.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { Accounts } from '../../../engine/ports/accounts.ts';
import type { DatasetQueries, ListFilter } from '../../../engine/ports/dataset-queries.ts';
import { flattened, type Items, mapped } from '../../../engine/runtime/items.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
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

export function listing(
  sources: ListingSources,
  filter: ListFilter,
  { caller, signal, versionNamed }: Pick<RequestContext, 'caller' | 'signal' | 'versionNamed'>,
): Items<ListingItem> {
  // Most of a listing is of few people: those of one batch are mostly those of the next.
  let profiles: Profiles | undefined;
  const items = mapped(inBatches(sources.queries.list(filter, signal)), async (batch) => {
    const people = batch.flatMap((dataset) => peopleOf(dataset, filter.viewer));
    const known = await findProfiles(sources.accounts, people, signal, profiles);
    profiles = known;
    const guest = caller.kind === 'guest';
    const { viewer, target } = filter;
    const view = { viewer, guest, versionNamed, profiles: known, dataTypes: sources.dataTypes, target };
    return batch.map((dataset) => listingItem(dataset, view));
  });
  return flattened(items);
}
