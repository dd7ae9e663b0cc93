// GET /admin/reports/imports/failed: imports that failed from an error of ours or of a plugin. Those that the user's own
// data made invalid are not among them.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import { parseUserId, type UserId } from '../../../engine/model/ids.ts';
import type { DatasetReports } from '../../../engine/ports/dataset-reports.ts';
import { mapped } from '../../../engine/runtime/items.ts';
import { jsonReport } from '../../kernel/answers/json-text.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import { reportPageOf, reportPageParameters } from '../../kernel/pipeline/paging.ts';
import type { QueryValue } from '../../kernel/pipeline/query.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { BrokenImports } from '../schema/admin-report.ts';
import { brokenImport } from '../views/admin-report.ts';
import { momentOf } from './partial-datetime.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface FailedImportsOptions {
  readonly reports: Pick<DatasetReports, 'failedImports'>;
  readonly dataTypes: DataTypes;
}

const moment = (description: string) => ({ description, schema: { type: 'string', minLength: 10, maxLength: 19 } });

export function failedImportsRoute(options: FailedImportsOptions): Route {
  return {
    method: 'GET',
    path: '/admin/reports/imports/failed',
    access: 'admin',
    operationId: 'reportFailedImports',
    summary: 'Lists the datasets, not deleted, whose import failed from an internal error',
    query: {
      user: { description: 'Only datasets of this user', schema: { type: 'string', pattern: '^[1-9][0-9]{0,18}$' } },
      before: moment('Only datasets created before: the beginning of 2026-01-02T03:04:05, from its date on, in UTC'),
      after: moment('Only datasets created then or later; given as `before` is'),
      sort: { description: 'By when they were created', schema: { enum: ['date'], default: 'date' } },
      order: { description: 'Oldest or newest first', schema: { enum: ['asc', 'desc'], default: 'desc' } },
      ...reportPageParameters,
    },
    responses: {
      200: answer('Failed imports', BrokenImports),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is wrong' }),
    },
    handler: (context) => report(options, context),
  };
}

async function report({ reports, dataTypes }: FailedImportsOptions, context: RequestContext): Promise<void> {
  const { query, signal } = context;
  const owner = userOf(query.user);
  const before = boundOf('before', query.before);
  const after = boundOf('after', query.after);
  const filter = {
    order: query.order === 'asc' ? ('asc' as const) : ('desc' as const),
    ...(owner === undefined ? {} : { owner }),
    ...(before ? { before: before.moment } : {}),
    ...(after ? { after: after.moment } : {}),
  };
  const { page, meta } = reportPageOf(query);
  const items = mapped(reports.failedImports(filter, page, signal), (failed) => brokenImport(failed, dataTypes));
  const asked = {
    ...(before ? { before: before.text } : {}),
    ...(after ? { after: after.text } : {}),
    ...(owner === undefined ? {} : { user: owner }),
  };
  const rest = (count: number): Pick<BrokenImports, 'meta'> => ({ meta: { count, ...asked, ...meta } });
  await jsonReport(context, { name: 'results', items, rest });
}

function userOf(asked: QueryValue | undefined): UserId | undefined {
  if (asked === undefined) return undefined;
  const user = parseUserId(String(asked));
  if (!user) throw badRequest(`query parameter 'user' is ${quote(String(asked))}: no user has so high an id`);
  return user;
}

function boundOf(
  name: string,
  asked: QueryValue | undefined,
): { readonly text: string; readonly moment: Date } | undefined {
  if (asked === undefined) return undefined;
  const text = String(asked);
  const found = momentOf(text);
  if (found) return { text, moment: found };
  throw badRequest(`query parameter '${name}' is ${quote(text)}: a date, or more of 2026-01-02T03:04:05, is needed`);
}
