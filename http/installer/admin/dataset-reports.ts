// GET /admin/reports/datasets/list-all: every dataset, in pages or all at once in constant memory. `meta` comes after the
// list, so that its count is what was really sent. GET /admin/reports/datasets/{id}: what the service knows about one dataset,
// deleted or not (docs/contract/installer.md#administrator-records).

import type { Static } from 'typebox';
import type { DataTypes } from '../../../engine/model/data-types.ts';
import { LANES } from '../../../engine/model/event.ts';
import { parseDatasetId, parseUserId } from '../../../engine/model/ids.ts';
import { isDeleted } from '../../../engine/model/status.ts';
import type { DatasetRecord, ObjectVersion } from '../../../engine/ports/catalog.ts';
import type {
  DatasetFiles,
  DatasetQueries,
  DatasetReports,
  ReportedDataset,
  ReportFilter,
} from '../../../engine/ports/dataset-queries.ts';
import type { Discard, Problems } from '../../../engine/ports/problems.ts';
import { Items } from '../../../engine/runtime/items.ts';
import { jsonReport } from '../../kernel/answers/json-text.ts';
import { quote } from '../../kernel/input/describe.ts';
import { Type, UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import type { Query } from '../../kernel/pipeline/query.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { noDataset } from '../access.ts';
import {
  DatasetTypeOutput,
  Datetime,
  datasetParam,
  InstallTargetIds,
  StatusBlock,
  typeView,
  VdiId,
  VisibilityOutput,
  visibilityView,
} from '../dataset-terms.ts';
import { askedFilters, listFilters } from '../list-query.ts';
import { ADMIN_REFUSALS, Count, Limit, Offset, reportPageOf, reportPaging } from './admin-route.ts';
import { brokenInstall, targetsOf } from './failed-reports.ts';

const AllDatasetsEntry = Type.Named('AllDatasetsEntry', {
  datasetId: VdiId,
  owner: UserIdOutput,
  datasetType: DatasetTypeOutput,
  visibility: VisibilityOutput,
  name: Type.String(),
  origin: Type.String(),
  installTargets: InstallTargetIds,
  status: StatusBlock,
  created: Datetime,
  isDeleted: Type.Boolean(),
  summary: Type.String(),
  description: Type.Optional(Type.String()),
  programName: Type.Optional(Type.String()),
  projectName: Type.Optional(Type.String()),
});
type AllDatasetsEntry = Static<typeof AllDatasetsEntry>;

const AllDatasets = Type.Named('AllDatasets', {
  results: Type.Array(AllDatasetsEntry, { description: 'In order of creation' }),
  meta: Type.Object({
    count: Count,
    offset: Offset,
    limit: Limit,
    total: Type.Integer({
      minimum: 0,
      description: 'Number of matching items, regardless of limit and offset, when the response began',
    }),
  }),
});
type AllDatasets = Static<typeof AllDatasets>;

const InternalDetails = Type.Named('InternalDetails', {
  datasetType: DatasetTypeOutput,
  owner: UserIdOutput,
  isDeleted: Type.Boolean(),
  origin: Type.String(),
  created: Datetime,
  inserted: Type.String({ format: 'date-time', description: 'When the cache first recorded it' }),
  name: Type.String(),
  installTargets: InstallTargetIds,
  status: Type.String({ description: 'Status of the import' }),
  importMessages: Type.Array(Type.String()),
  visibility: VisibilityOutput,
  summary: Type.String(),
  description: Type.Optional(Type.String()),
  syncControl: Type.Optional(
    Type.Object(
      { sharesUpdateTime: Datetime, dataUpdateTime: Datetime, metaUpdateTime: Datetime },
      {
        description:
          'Time of the latest object store changes that the cache reflects; 1970-01-01T00:00:00.000Z for none yet',
      },
    ),
  ),
  discarded: Type.Optional(
    Type.Array(
      Type.Object({
        lane: Type.Enum([...LANES]),
        installTarget: Type.Optional(Type.String()),
        at: Datetime,
        by: Type.String({ description: '`Admin-Token`, or the operator, such as `user 42`' }),
        reason: Type.String(),
        message: Type.String({ description: 'The failure that was discarded' }),
      }),
      { description: 'Failures that operators have discarded, newest first' },
    ),
  ),
  uploadFiles: Type.Optional(Type.Array(Type.String())),
  installFiles: Type.Optional(Type.Array(Type.String())),
});
type InternalDetails = Static<typeof InternalDetails>;

/** Shown where the cache reflects no change yet, because the contract requires a time. */
const NEVER = new Date(0);

function allDatasetsEntry(dataset: DatasetRecord, dataTypes: DataTypes, versionNamed: boolean): AllDatasetsEntry {
  const { metadata } = dataset;
  const { description, programName, projectName } = metadata;
  return {
    ...brokenInstall(dataset, dataTypes, versionNamed),
    visibility: visibilityView(metadata),
    name: metadata.name,
    origin: metadata.origin,
    created: metadata.created,
    isDeleted: isDeleted(dataset.state),
    summary: metadata.summary,
    ...(description === undefined ? {} : { description }),
    ...(programName === undefined ? {} : { programName }),
    ...(projectName === undefined ? {} : { projectName }),
  };
}

function internalDetails(
  dataset: ReportedDataset,
  files: Pick<DatasetFiles, 'upload' | 'install'>,
  discards: readonly Discard[],
  dataTypes: DataTypes,
): InternalDetails {
  const { metadata, sync } = dataset;
  const { description } = metadata;
  return {
    datasetType: typeView(metadata.type, dataTypes),
    owner: dataset.owner,
    isDeleted: isDeleted(dataset.state),
    origin: metadata.origin,
    created: metadata.created,
    inserted: dataset.inserted.toISOString(),
    name: metadata.name,
    installTargets: targetsOf(dataset),
    status: dataset.import?.status ?? 'queued',
    importMessages: [...(dataset.import?.messages ?? [])],
    visibility: visibilityView(metadata),
    summary: metadata.summary,
    ...(description === undefined ? {} : { description }),
    syncControl: {
      sharesUpdateTime: timeOf(sync.shares),
      dataUpdateTime: timeOf(sync.data),
      metaUpdateTime: timeOf(sync.meta),
    },
    ...(discards.length > 0 ? { discarded: discards.map(discardView) } : {}),
    uploadFiles: files.upload.map(({ name }) => name),
    installFiles: files.install.map(({ name }) => name),
  };
}

const discardView = ({ lane, target, at, by, reason, message }: Discard) => ({
  lane,
  ...(target === undefined ? {} : { installTarget: target }),
  ...{ at: at.toISOString(), by, reason, message },
});

const timeOf = (version: ObjectVersion | undefined): string => (version?.modified ?? NEVER).toISOString();

interface AllDatasetsOptions {
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
        description:
          'Only datasets with this install target; case does not matter, and the target need not be configured',
        schema: { type: 'string' },
      },
      include_deleted: {
        description: 'Include deleted datasets',
        schema: { type: 'boolean', default: false },
      },
      owner: { description: 'Only datasets of this user', schema: { type: 'string', pattern: '^[1-9][0-9]{0,18}$' } },
      ...listFilters,
      ...reportPaging,
    },
    responses: {
      200: answer('Datasets, oldest first', AllDatasets),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid' }),
    },
    handler: (context) => report(options, context),
  };
}

async function report({ reports, dataTypes }: AllDatasetsOptions, context: RequestContext): Promise<void> {
  const { signal, versionNamed } = context;
  const filter = filterOf(context.query);
  const { page, meta } = reportPageOf(context.query);
  // The count and the list both scan all datasets, so they run at the same time.
  const counting = reports.count(filter, signal);
  // A failure is reported by the await below, unless the list fails first.
  counting.catch(() => undefined);
  let total = 0;
  const datasets = reports.all(filter, page, signal)[Symbol.asyncIterator]();
  const read = async (): Promise<AllDatasetsEntry | undefined> => {
    const next = await datasets.next();
    // Awaited before anything is sent, so that its failure becomes an ordinary error response.
    total = await counting;
    return next.done ? undefined : allDatasetsEntry(next.value, dataTypes, versionNamed);
  };
  const items = new Items(read, () => datasets.return?.());
  const rest = (count: number): Pick<AllDatasets, 'meta'> => ({ meta: { count, ...meta, total } });
  await jsonReport(context, { name: 'results', items, rest });
}

function filterOf(query: Query): ReportFilter {
  const owner = query.owner === undefined ? undefined : parseUserId(String(query.owner));
  if (query.owner !== undefined && !owner)
    throw badRequest(`query parameter 'owner' is ${quote(String(query.owner))}: no user id`);
  return {
    includeDeleted: query.include_deleted === true,
    ...(query.install_target === undefined ? {} : { target: String(query.install_target) }),
    ...(owner ? { owner } : {}),
    ...askedFilters(query),
  };
}

interface DatasetReportOptions {
  readonly reports: Pick<DatasetReports, 'find'>;
  readonly queries: Pick<DatasetQueries, 'files'>;
  readonly problems: Pick<Problems, 'discards'>;
  readonly dataTypes: DataTypes;
}

export function datasetReportRoute({ reports, queries, problems, dataTypes }: DatasetReportOptions): Route {
  return {
    method: 'GET',
    path: '/admin/reports/datasets/:id',
    access: 'admin',
    operationId: 'reportDataset',
    summary: 'Shows internal details of a dataset',
    params: datasetParam,
    responses: {
      200: answer('The dataset', InternalDetails),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'Not a valid dataset id', 404: 'No such dataset' }),
    },
    handler: async (context) => {
      const text = context.param('id');
      const id = parseDatasetId(text);
      if (!id) throw badRequest(`${quote(text)} is no dataset id: at most 64 letters, digits, '-', '_' and dots are`);
      const dataset = await reports.find(id, context.signal);
      if (!dataset) throw noDataset(id);
      const files = await queries.files(id, context.signal);
      const discards = await problems.discards(id, context.signal);
      const details: InternalDetails = internalDetails(dataset, files, discards, dataTypes);
      await context.json(200, details);
    },
  };
}
