// GET /admin/reports/datasets/{id}: what is known of one dataset inside, deleted or not.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import { parseDatasetId } from '../../../engine/model/ids.ts';
import type { DatasetQueries } from '../../../engine/ports/dataset-queries.ts';
import type { DatasetReports } from '../../../engine/ports/dataset-reports.ts';
import { quote } from '../../kernel/input/describe.ts';
import { badRequest, notFound } from '../../kernel/pipeline/errors.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { InternalDetails } from '../schema/admin-report.ts';
import { datasetParam } from '../schema/dataset-param.ts';
import { internalDetails } from '../views/admin-report.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface DatasetReportOptions {
  readonly reports: Pick<DatasetReports, 'find'>;
  readonly queries: Pick<DatasetQueries, 'files'>;
  readonly dataTypes: DataTypes;
}

export function datasetReportRoute({ reports, queries, dataTypes }: DatasetReportOptions): Route {
  return {
    method: 'GET',
    path: '/admin/reports/datasets/:id',
    access: 'admin',
    operationId: 'reportDataset',
    summary: 'Shows what is known of a dataset inside',
    params: datasetParam,
    responses: {
      200: answer('The dataset', InternalDetails),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'No dataset can have this id', 404: 'No such dataset' }),
    },
    handler: async (context) => {
      const text = context.param('id');
      const id = parseDatasetId(text);
      if (!id) throw badRequest(`${quote(text)} is no dataset id: at most 64 letters, digits, '-', '_' and dots are`);
      const dataset = await reports.find(id, context.signal);
      if (!dataset) throw notFound(`there is no dataset '${id}'`);
      const files = await queries.files(id, context.signal);
      const details: InternalDetails = internalDetails(dataset, files, dataTypes);
      await context.json(200, details);
    },
  };
}
