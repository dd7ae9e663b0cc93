// GET /datasets/{id}/files: names and sizes of a dataset's files.

import type { DatasetQueries } from '../../../engine/ports/dataset-queries.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { findVisible, viewerOf } from '../details/dataset-lookup.ts';
import { datasetParam } from '../schema/dataset-param.ts';
import { AnyFileListing } from '../schema/file-listing.ts';
import { type FileSources, listFiles } from './dataset-files.ts';

export interface FilesOptions extends FileSources {
  readonly queries: FileSources['queries'] & Pick<DatasetQueries, 'view'>;
}

export function filesRoute(options: FilesOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/datasets/:id/files',
    access: 'anyone-known',
    operationId: 'listDatasetFiles',
    summary: 'Lists the files of a dataset',
    params: datasetParam,
    responses: {
      200: answer('Files of the upload, of the install, documents and property files', AnyFileListing),
      ...refusals({ 403: 'The Admin-Token is wrong', 404: 'No such dataset', 410: 'Deleted, or no longer shared' }),
    },
    handler: (context) => files(options, context),
  };
}

async function files(options: FilesOptions, context: RequestContext): Promise<void> {
  const { signal, version } = context;
  const dataset = await findVisible(options.queries, context.param('id'), viewerOf(context), signal);
  await context.json(200, await listFiles(options, dataset, version, signal));
}
