// GET /datasets: the caller's own datasets and those shared with the caller, newest first.

import type { ListFilter, Ownership } from '../../../engine/ports/dataset-queries.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { openPageOf, openPageParameters } from '../../kernel/pipeline/paging.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { InstallTargetId } from '../schema/details.ts';
import { Listing } from '../schema/listing-item.ts';
import type { InstallTargets } from '../service/install-targets.ts';
import { askedTarget } from './asked-target.ts';
import { type ListingSources, listing } from './listing.ts';

export interface ListOptions extends ListingSources {
  readonly targets: InstallTargets;
}

const OWNERSHIPS: readonly Ownership[] = ['any', 'owned', 'shared'];

export function listRoute(options: ListOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/datasets',
    access: 'user',
    operationId: 'listDatasets',
    summary: 'Lists the datasets that the caller owns or was given',
    query: {
      install_target: {
        description: 'Only datasets of this install target, and only its install status',
        schema: { ...InstallTargetId },
      },
      ownership: {
        description: 'Only datasets that the caller owns, or that are shared with the caller',
        schema: { enum: OWNERSHIPS, default: 'any' },
      },
      ...openPageParameters(-1),
    },
    responses: {
      200: answer('Datasets, newest first', Listing),
      304: { description: 'It is what the caller has' },
      ...refusals({ 400: 'A query parameter is wrong', 403: 'Guests have no datasets' }),
    },
    handler: (context) => context.jsonList(listing(options, filterOf(options.targets, context), context)),
  };
}

function filterOf(targets: InstallTargets, { query, userId }: RequestContext): ListFilter {
  const target = askedTarget(targets, 'install_target', query.install_target);
  return {
    viewer: userId,
    ownership: OWNERSHIPS.find((ownership) => ownership === query.ownership) ?? 'any',
    ...(target === undefined ? {} : { target }),
    ...openPageOf(query, -1),
  };
}
