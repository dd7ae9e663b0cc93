// GET /admin/reports/datasets/list-all: every dataset there is, page by page or all at once in constant memory. The list
// comes first and `meta` after it, so that its count is what was really sent.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { DatasetReports, ReportFilter } from '../../../engine/ports/dataset-reports.ts';
import { Items } from '../../../engine/runtime/items.ts';
import { jsonReport } from '../../kernel/answers/json-text.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { reportPageOf, reportPageParameters } from '../../kernel/pipeline/paging.ts';
import type { Query } from '../../kernel/pipeline/query.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { AllDatasets, type AllDatasetsEntry } from '../schema/admin-report.ts';
import { allDatasetsEntry } from '../views/admin-report.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface AllDatasetsOptions {
  readonly reports: Pick<DatasetReports, 'count' | 'all'>;
  readonly dataTypes: DataTypes;
}

export function allDatasetsRoute(options: AllDatasetsOptions): Route {
  return {
    method: 'GET',
    path: '/admin/reports/datasets/list-all',
    access: 'admin',
    operationId: 'reportDatasets',
    summary: 'Lists all datasets, superseded revisions included',
    query: {
      install_target: {
        description: 'Only datasets that name this install target, in upper or lower case; configured or not',
        schema: { type: 'string' },
      },
      include_deleted: {
        description: 'Those marked deleted, too',
        schema: { type: 'boolean', default: false },
      },
      ...reportPageParameters,
    },
    responses: {
      200: answer('Datasets, oldest first', AllDatasets),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is wrong' }),
    },
    handler: (context) => report(options, context),
  };
}

async function report({ reports, dataTypes }: AllDatasetsOptions, context: RequestContext): Promise<void> {
  const { signal, versionNamed } = context;
  const filter = filterOf(context.query);
  const { page, meta } = reportPageOf(context.query);
  // Both look at all datasets: at the same time.
  const counting = reports.count(filter, signal);
  // Heard of below, unless the list fails first.
  counting.catch(() => undefined);
  let total = 0;
  const datasets = reports.all(filter, page, signal)[Symbol.asyncIterator]();
  const read = async (): Promise<AllDatasetsEntry | undefined> => {
    const next = await datasets.next();
    // Before anything is sent: its failure is an ordinary error.
    total = await counting;
    return next.done ? undefined : allDatasetsEntry(next.value, dataTypes, versionNamed);
  };
  const items = new Items(read, () => datasets.return?.());
  const rest = (count: number): Pick<AllDatasets, 'meta'> => ({ meta: { count, ...meta, total } });
  await jsonReport(context, { name: 'results', items, rest });
}

const filterOf = (query: Query): ReportFilter => ({
  includeDeleted: query.include_deleted === true,
  ...(query.install_target === undefined ? {} : { target: String(query.install_target) }),
});
