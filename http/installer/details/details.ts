// GET /datasets/{id}: everything about one dataset.

import type { DatasetQueries } from '../../../engine/ports/dataset-queries.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { AnyDatasetDetails } from '../schema/dataset-details.ts';
import { datasetParam } from '../schema/dataset-param.ts';
import { findOrMoved } from './dataset-lookup.ts';
import { type DetailsSources, readDetails } from './dataset-reader.ts';
import { datasetTag } from './dataset-tag.ts';

export interface DetailsOptions extends DetailsSources {
  readonly queries: DetailsSources['queries'] & Pick<DatasetQueries, 'view'>;
}

export function detailsRoute(options: DetailsOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/datasets/:id',
    access: 'user-or-admin',
    operationId: 'getDataset',
    summary: 'Shows one dataset',
    params: datasetParam,
    responses: {
      200: answer('The dataset; with Api-Version 1.7.0 in the older form', AnyDatasetDetails),
      304: { description: 'It is what the caller has' },
      301: { description: 'Replaced: Location names the newest revision' },
      ...refusals({ 403: 'Guests cannot see datasets', 404: 'No such dataset', 410: 'Deleted, or no longer shared' }),
    },
    handler: (context) => details(options, context),
  };
}

async function details(options: DetailsOptions, context: RequestContext): Promise<void> {
  const { caller, publicUrl: baseUrl, signal, version, versionNamed } = context;
  const viewer = caller.kind === 'admin' ? 'admin' : context.userId;
  const outcome = await findOrMoved(options.queries, context.param('id'), viewer, signal);
  if ('movedTo' in outcome) {
    context.empty(301, { location: `${baseUrl}/datasets/${outcome.movedTo}`, 'cache-control': 'no-store' });
    return;
  }
  const dataset = outcome.found;
  // An administrator looks with the owner's eyes.
  const asker = { viewer: viewer === 'admin' ? dataset.owner : viewer, version, versionNamed, baseUrl };
  const body = await readDetails(options, dataset, asker, signal);
  await context.json(200, body, { etag: datasetTag(dataset.sync.meta, body) });
}
