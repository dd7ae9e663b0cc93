// GET /users/self/share-offers: what others offer to the caller, and what the caller answered.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { Accounts } from '../../../engine/ports/accounts.ts';
import {
  type DatasetQueries,
  type OfferedDataset,
  type OfferFilter,
  SHARE_STATUSES,
} from '../../../engine/ports/dataset-queries.ts';
import { flattened, type Items, mapped } from '../../../engine/runtime/items.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { openPageOf, openPageParameters } from '../../kernel/pipeline/paging.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { findProfiles } from '../details/profiles.ts';
import { type ShareOffer, ShareOffers } from '../schema/share.ts';
import { ownerView } from '../views/people.ts';
import { typeView } from '../views/terms.ts';
import { inBatches } from './batches.ts';

export interface ShareOffersOptions {
  readonly queries: Pick<DatasetQueries, 'offers'>;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly dataTypes: DataTypes;
}

const WORDS = [...SHARE_STATUSES, 'all'] as const;
/** Clients send either case (docs/contract/installer.md#endpoints). */
const ANY_CASE = WORDS.map((word) => [...word].map((letter) => `[${letter}${letter.toUpperCase()}]`).join(''));

export function shareOffersRoute(options: ShareOffersOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/users/self/share-offers',
    access: 'user',
    operationId: 'listShareOffers',
    summary: 'Lists the datasets that others offer to the caller',
    query: {
      status: {
        description: `Only offers answered so: ${WORDS.join(', ')}, in upper or lower case`,
        schema: { type: 'string', pattern: `^(${ANY_CASE.join('|')})$`, default: 'open' },
      },
      ...openPageParameters(-1),
    },
    responses: {
      200: answer('Offers that stand, newest dataset first', ShareOffers),
      304: { description: 'It is what the caller has' },
      ...refusals({ 400: 'A query parameter is wrong', 403: 'Guests have no offers' }),
    },
    handler: (context) => context.jsonList(offers(options, filterOf(context), context.signal)),
  };
}

function filterOf({ query, userId }: RequestContext): OfferFilter {
  const asked = String(query.status ?? 'open').toLowerCase();
  return { recipient: userId, status: WORDS.find((word) => word === asked) ?? 'open', ...openPageOf(query, -1) };
}

function offers(
  { queries, accounts, dataTypes }: ShareOffersOptions,
  filter: OfferFilter,
  signal: AbortSignal,
): Items<ShareOffer> {
  const items = mapped(inBatches(queries.offers(filter, signal)), async (batch) => {
    const owners = batch.map(({ owner }) => owner);
    const profiles = await findProfiles(accounts, owners, signal);
    return batch.map(({ dataset, owner, status, metadata }: OfferedDataset) => ({
      datasetId: dataset,
      owner: ownerView(owner, profiles),
      shareStatus: status,
      type: typeView(metadata.type, dataTypes),
      installTargets: [...metadata.installTargets],
    }));
  });
  return flattened(items);
}
