// GET /datasets/community: every dataset that is not private, newest first, for everybody who is logged in.

import { type Items, mapped } from '../../../engine/runtime/items.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { openPageOf, openPageParameters } from '../../kernel/pipeline/paging.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { InstallTargetId } from '../schema/details.ts';
import { Listing, type ListingItem } from '../schema/listing-item.ts';
import type { InstallTargets } from '../service/install-targets.ts';
import { askedTarget } from './asked-target.ts';
import { type ListingSources, listing } from './listing.ts';

export interface CommunityOptions extends ListingSources {
  readonly targets: InstallTargets;
}

export function communityRoute(options: CommunityOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/datasets/community',
    access: 'user-or-guest',
    operationId: 'listCommunityDatasets',
    summary: 'Lists the datasets that are not private',
    query: {
      install_target: {
        description: 'Only datasets of this install target, and only its install status',
        schema: { ...InstallTargetId },
      },
      ...openPageParameters(-1),
    },
    responses: {
      200: answer('Datasets, newest first, without shares', Listing),
      304: { description: 'It is what the caller has' },
      ...refusals({ 400: 'A query parameter is wrong' }),
    },
    handler: (context) => context.jsonList(community(options, context)),
  };
}

function community(options: CommunityOptions, context: RequestContext): Items<ListingItem> {
  const { query, userId } = context;
  const target = askedTarget(options.targets, 'install_target', query.install_target);
  const filter = { viewer: userId, ownership: 'community' as const, ...openPageOf(query, -1) };
  // Whom an owner shares with is nothing for this list, not even in the owner's own eyes.
  const items = listing(options, target === undefined ? filter : { ...filter, target }, context);
  return mapped(items, (item) => ({ ...item, shares: [] }));
}
