// GET /admin/reports/imports/failed: imports that failed from an error of the service or of a plugin. GET
// /admin/reports/installs/failed: datasets with an install, of metadata or data, that failed so; read from the mirror in the
// cache. What failed because of the user's data is in neither (docs/contract/installer.md#administrator-records).

import type { Static } from 'typebox';
import type { DataTypes } from '../../../engine/model/data-types.ts';
import { type DatasetId, parseUserId, type UserId } from '../../../engine/model/ids.ts';
import type { DatasetRecord } from '../../../engine/ports/catalog.ts';
import type { DatasetReports, FailedImport } from '../../../engine/ports/dataset-queries.ts';
import { mapped } from '../../../engine/runtime/items.ts';
import { jsonReport } from '../../kernel/answers/json-text.ts';
import { quote } from '../../kernel/input/describe.ts';
import { Type, UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import type { QueryValue } from '../../kernel/pipeline/query.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { DatasetTypeOutput, InstallTargetIds, StatusBlock, statusBlock, typeView, VdiId } from '../dataset-terms.ts';
import {
  ADMIN_REFUSALS,
  askedMoment,
  Limit,
  momentParameter,
  Offset,
  reportPageOf,
  reportPaging,
} from './admin-route.ts';

const BrokenImport = Type.Named('FailedImport', {
  datasetId: VdiId,
  owner: UserIdOutput,
  datasetType: DatasetTypeOutput,
  installTargets: InstallTargetIds,
  messages: Type.Array(Type.String()),
});
type BrokenImport = Static<typeof BrokenImport>;

const Asked = Type.Optional(Type.String({ minLength: 10, maxLength: 19, description: 'As requested' }));

const BrokenImports = Type.Named('FailedImports', {
  results: Type.Array(BrokenImport),
  meta: Type.Object({
    count: Type.Integer({ minimum: 0, description: 'Number of records in the result' }),
    before: Asked,
    after: Asked,
    user: Type.Optional(UserIdOutput),
    limit: Limit,
    offset: Offset,
  }),
});
type BrokenImports = Static<typeof BrokenImports>;

const BrokenInstall = Type.Named('FailedInstall', {
  datasetId: VdiId,
  owner: UserIdOutput,
  datasetType: DatasetTypeOutput,
  installTargets: InstallTargetIds,
  status: StatusBlock,
});
type BrokenInstall = Static<typeof BrokenInstall>;

const BrokenInstalls = Type.Named('FailedInstalls', {
  details: Type.Optional(Type.Array(BrokenInstall, { description: 'If expanded' })),
  ids: Type.Optional(Type.Array(VdiId, { description: 'If not expanded' })),
});

const brokenImport = (failed: FailedImport, dataTypes: DataTypes): BrokenImport => ({
  datasetId: failed.dataset,
  owner: failed.owner,
  datasetType: typeView(failed.type, dataTypes),
  installTargets: [...failed.installTargets],
  messages: [...failed.messages],
});

export function brokenInstall(dataset: DatasetRecord, dataTypes: DataTypes, versionNamed: boolean): BrokenInstall {
  const installTargets = targetsOf(dataset);
  return {
    datasetId: dataset.dataset,
    owner: dataset.owner,
    datasetType: typeView(dataset.metadata.type, dataTypes),
    installTargets,
    status: statusBlock(dataset, installTargets, dataset.installs, versionNamed),
  };
}

/** Without duplicates: documents of compatible systems may name a target twice. */
export const targetsOf = ({ metadata }: DatasetRecord): DatasetRecord['metadata']['installTargets'][number][] => [
  ...new Set(metadata.installTargets),
];

interface FailedImportsOptions {
  readonly reports: Pick<DatasetReports, 'failedImports'>;
  readonly dataTypes: DataTypes;
}

export function failedImportsRoute(options: FailedImportsOptions): Route {
  return {
    method: 'GET',
    path: '/admin/reports/imports/failed',
    access: 'admin',
    operationId: 'reportFailedImports',
    summary: 'Lists datasets that are not deleted and whose import failed with an internal error',
    query: {
      user: { description: 'Only datasets of this user', schema: { type: 'string', pattern: '^[1-9][0-9]{0,18}$' } },
      before: momentParameter(
        'Only datasets created before: the beginning of 2026-01-02T03:04:05, from its date on, in UTC',
      ),
      after: momentParameter('Only datasets created then or later; given as `before` is'),
      sort: { description: 'Sort key: creation date', schema: { enum: ['date'], default: 'date' } },
      order: {
        description: 'asc for oldest first, desc for newest first',
        schema: { enum: ['asc', 'desc'], default: 'desc' },
      },
      ...reportPaging,
    },
    responses: {
      200: answer('Failed imports', BrokenImports),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid' }),
    },
    handler: (context) => report(options, context),
  };
}

async function report({ reports, dataTypes }: FailedImportsOptions, context: RequestContext): Promise<void> {
  const { query, signal } = context;
  const owner = userOf(query.user);
  const before = askedMoment('before', query.before);
  const after = askedMoment('after', query.after);
  const filter = {
    order: query.order === 'asc' ? ('asc' as const) : ('desc' as const),
    ...(owner === undefined ? {} : { owner }),
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
  };
  const { page, meta } = reportPageOf(query);
  const items = mapped(reports.failedImports(filter, page, signal), (failed) => brokenImport(failed, dataTypes));
  const asked = {
    ...(before ? { before: String(query.before) } : {}),
    ...(after ? { after: String(query.after) } : {}),
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

interface FailedInstallsOptions {
  readonly reports: Pick<DatasetReports, 'stuckInstalls'>;
  readonly dataTypes: DataTypes;
}

export function failedInstallsRoute({ reports, dataTypes }: FailedInstallsOptions): Route {
  return {
    method: 'GET',
    path: '/admin/reports/installs/failed',
    access: 'admin',
    operationId: 'reportFailedInstalls',
    summary: 'Lists datasets, neither deleted nor superseded, with an install that failed with an internal error',
    query: {
      expanded: {
        description: 'Include the details of each dataset, or only ids',
        schema: { type: 'boolean', default: true },
      },
    },
    responses: {
      200: answer('Failed installs, in no order; either `details` or `ids`', BrokenInstalls),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid' }),
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
