// GET /admin/reports/installs/failed: datasets with an install that failed for no fault of the user's, of metadata or data,
// as the mirror in the cache has it.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import type { DatasetRecord } from '../../../engine/ports/catalog.ts';
import type { DatasetReports } from '../../../engine/ports/dataset-reports.ts';
import { mapped } from '../../../engine/runtime/items.ts';
import { jsonReport } from '../../kernel/answers/json-text.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { type BrokenInstall, BrokenInstalls } from '../schema/admin-report.ts';
import { brokenInstall } from '../views/admin-report.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface FailedInstallsOptions {
  readonly reports: Pick<DatasetReports, 'stuckInstalls'>;
  readonly dataTypes: DataTypes;
}

export function failedInstallsRoute({ reports, dataTypes }: FailedInstallsOptions): Route {
  return {
    method: 'GET',
    path: '/admin/reports/installs/failed',
    access: 'admin',
    operationId: 'reportFailedInstalls',
    summary: 'Lists the datasets, neither deleted nor superseded, with an install that failed from an internal error',
    query: {
      expanded: { description: 'Details of each dataset, or ids alone', schema: { type: 'boolean', default: true } },
    },
    responses: {
      200: answer('Failed installs, in no order; either `details` or `ids`', BrokenInstalls),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is wrong' }),
    },
    handler: (context) => {
      const { versionNamed } = context;
      const expanded = context.query.expanded !== false;
      const found = reports.stuckInstalls('failed-installation', context.signal);
      const items = mapped<DatasetRecord, BrokenInstall | DatasetId>(found, (dataset) =>
        expanded ? brokenInstall(dataset, dataTypes, versionNamed) : dataset.dataset,
      );
      return jsonReport(context, { name: expanded ? 'details' : 'ids', items });
    },
  };
}
