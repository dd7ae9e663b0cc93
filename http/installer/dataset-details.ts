// GET /datasets/{id} (docs/contract/installer.md#dataset-details), in both interface versions: metadata and the mirror of
// install statuses from the cache, sizes of archives from the object store, names of people, related datasets. Where it is
// wired in, the install status comes from the targets themselves.

import type { Static, TProperties, TSchema } from 'typebox';
import type { ApiVersion } from '../../engine/model/api-version.ts';
import type { DataTypes } from '../../engine/model/data-types.ts';
import type { UserId } from '../../engine/model/ids.ts';
import { type DatasetMetadata, shortName } from '../../engine/model/metadata.ts';
import type { Accounts } from '../../engine/ports/access-people.ts';
import type { InstallRecord } from '../../engine/ports/catalog.ts';
import type { DatasetQueries, RelatedDataset, ViewedDataset } from '../../engine/ports/dataset-queries.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { findOrMoved } from './access.ts';
import { datasetTag } from './dataset-edit.ts';
import {
  DatasetTypeOutput,
  Datetime,
  datasetParam,
  InstallTargetIds,
  StatusBlock,
  statusBlock,
  typeView,
  VdiId,
  VisibilityOutput,
  visibilityView,
} from './dataset-terms.ts';
import { FileListing, type FileSources, listFiles, OldFileListing } from './files/files.ts';
import {
  Characteristics,
  ContactInput,
  type CreateDetails,
  DAYS_FOR_APPROVAL,
  DatasetSource,
  Dependency,
  ExternalIdentifiers,
  Funding,
  LinkedDataset,
  Organism,
  PublicationInput,
} from './metadata/create-details.ts';
import { findProfiles, Owner, ownerView, type Profiles, ShareDetails, shareDetailsView } from './people.ts';
import { RevisionHistory, revisionHistoryView } from './uploads/revision-history.ts';

const RelatedDatasetOutput = Type.Named('RelatedDataset', {
  datasetId: VdiId,
  type: DatasetTypeOutput,
  name: Type.String(),
  summary: Type.String(),
  created: Datetime,
  relatedBy: Type.Object({
    relationType: Type.Enum(['publication', 'program-name', 'project-name']),
    identifier: Type.String(),
    type: Type.Enum(['pmid', 'doi', 'program-name', 'project-name'], {
      description: 'Type of the publication, or the name of another relation',
    }),
  }),
});
type RelatedDatasetOutput = Static<typeof RelatedDatasetOutput>;

/** Fields that have the same name in both versions. */
const common = {
  datasetId: VdiId,
  owner: Owner,
  type: DatasetTypeOutput,
  visibility: VisibilityOutput,
  installTargets: InstallTargetIds,
  name: Type.String(),
  shortName: Type.String(),
  summary: Type.String(),
  description: Type.Optional(Type.String()),
  origin: Type.String(),
  created: Datetime,
  sourceUrl: Type.Optional(Type.String()),
  dependencies: Type.Array(Dependency),
  publications: Type.Optional(Type.Array(PublicationInput)),
  contacts: Type.Optional(Type.Array(ContactInput)),
  projectName: Type.Optional(Type.String()),
  programName: Type.Optional(Type.String()),
  linkedDatasets: Type.Optional(Type.Array(LinkedDataset)),
  experimentalOrganism: Type.Optional(Organism),
  hostOrganism: Type.Optional(Organism),
  externalIdentifiers: Type.Optional(ExternalIdentifiers),
  funding: Type.Optional(Type.Array(Funding)),
  shortAttribution: Type.Optional(Type.String()),
  revisionHistory: RevisionHistory,
  relatedDatasets: Type.Array(RelatedDatasetOutput),
  /** For the owner only. */
  shares: Type.Optional(Type.Array(ShareDetails)),
  status: StatusBlock,
};

/** Has every field of a create request. */
const current = {
  ...common,
  datasetCharacteristics: Type.Optional(Characteristics),
  daysForApproval: Type.Integer(DAYS_FOR_APPROVAL),
  dataDisclaimer: Type.Optional(Type.String()),
  datasetSources: Type.Optional(Type.Array(DatasetSource)),
  files: FileListing,
} satisfies TProperties & Readonly<Record<keyof CreateDetails, TSchema>>;

const DatasetDetails = Type.Named('DatasetDetails', current);
type DatasetDetails = Static<typeof DatasetDetails>;

export const OldDatasetDetails = Type.Named('DatasetDetails17', {
  ...common,
  studyCharacteristics: Type.Optional(Characteristics),
  files: OldFileListing,
});
export type OldDatasetDetails = Static<typeof OldDatasetDetails>;

/** The answer in either version. */
const AnyDatasetDetails = Type.Union([DatasetDetails, OldDatasetDetails]);

interface DetailsView {
  readonly viewer: UserId;
  readonly version: ApiVersion;
  /** The request names its interface version (`statusBlock`). */
  readonly versionNamed: boolean;
  readonly profiles: Profiles;
  readonly dataTypes: DataTypes;
  readonly installs: readonly InstallRecord[];
  readonly related: readonly RelatedDataset[];
  readonly files: FileListing | OldFileListing;
  /** Where the API is served, without a trailing slash. */
  readonly baseUrl: string;
}

export function datasetDetails(dataset: ViewedDataset, view: DetailsView): DatasetDetails | OldDatasetDetails {
  const { dataset: datasetId, metadata, owner } = dataset;
  const shown = {
    datasetId,
    ...metadataView(metadata, view.version),
    owner: ownerView(owner, view.profiles),
    type: typeView(metadata.type, view.dataTypes),
    visibility: visibilityView(metadata),
    shortName: shortName(metadata),
    revisionHistory: revisionHistoryView(datasetId, metadata, view.baseUrl),
    relatedDatasets: view.related.map((related) => relatedView(related, view.dataTypes)),
    ...(owner === view.viewer ? { shares: dataset.shares.map((share) => shareDetailsView(share, view.profiles)) } : {}),
    status: statusBlock(dataset, metadata.installTargets, view.installs, view.versionNamed),
    files: view.files,
  };
  return shown as DatasetDetails | OldDatasetDetails;
}

/** Fields of the stored document that version 1.7.0 does not have. */
const NEW_FIELDS = new Set(
  Object.keys(current).filter(
    (field) => field !== 'datasetCharacteristics' && !(field in OldDatasetDetails.properties),
  ),
);

/** The stored fields under the names of the version. `firstPublished` is internal. */
function metadataView(metadata: DatasetMetadata, version: ApiVersion): object {
  const old = version === '1.7.0';
  return Object.fromEntries(
    Object.entries(metadata)
      .filter(([field]) => field !== 'firstPublished' && !(old && NEW_FIELDS.has(field)))
      .map(([field, value]) => [old && field === 'datasetCharacteristics' ? 'studyCharacteristics' : field, value]),
  );
}

function relatedView(related: RelatedDataset, dataTypes: DataTypes): RelatedDatasetOutput {
  const { dataset: datasetId, type, name, summary, created, relation } = related;
  return {
    datasetId,
    type: typeView(type, dataTypes),
    name,
    summary,
    created,
    relatedBy: {
      relationType: relation.by,
      identifier: relation.identifier,
      // Deployed clients require a type for every relation.
      type: relation.by === 'publication' ? relation.type : relation.by,
    },
  };
}

/** The current install status of every target of the dataset. Falls back to the mirror for targets that do not answer. */
export type InstallStatusSource = (dataset: ViewedDataset, signal: AbortSignal) => Promise<readonly InstallRecord[]>;

interface DetailsSources extends FileSources {
  readonly queries: Pick<DatasetQueries, 'files' | 'related'>;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly dataTypes: DataTypes;
  /** Absent = the mirror in the cache. */
  readonly installStatus?: InstallStatusSource;
}

interface DetailsAsker {
  readonly viewer: UserId;
  readonly version: ApiVersion;
  readonly versionNamed: boolean;
  /** Where the API is served, without a trailing slash. */
  readonly baseUrl: string;
}

async function readDetails(
  sources: DetailsSources,
  dataset: ViewedDataset,
  asker: DetailsAsker,
  signal: AbortSignal,
): Promise<DatasetDetails | OldDatasetDetails> {
  const { viewer, version } = asker;
  const people = dataset.owner === viewer ? dataset.shares.map((share) => share.recipient) : [];
  const [files, profiles, related, installs] = await Promise.all([
    listFiles(sources, dataset, version, signal),
    findProfiles(sources.accounts, [dataset.owner, ...people], signal),
    sources.queries.related(dataset.dataset, dataset.metadata, viewer, signal),
    sources.installStatus?.(dataset, signal) ?? dataset.installs,
  ]);
  return datasetDetails(dataset, { ...asker, profiles, dataTypes: sources.dataTypes, installs, related, files });
}

interface DetailsOptions extends DetailsSources {
  readonly queries: DetailsSources['queries'] & Pick<DatasetQueries, 'view'>;
}

export function detailsRoute(options: DetailsOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/datasets/:id',
    access: 'user-or-admin',
    operationId: 'getDataset',
    summary: 'Shows a dataset',
    params: datasetParam,
    responses: {
      200: answer('The dataset; with Api-Version 1.7.0 in the older form', AnyDatasetDetails),
      304: { description: 'Not modified: the caller has the current version' },
      301: { description: 'Superseded: Location is the newest revision' },
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
  // An administrator sees what the owner sees.
  const asker = { viewer: viewer === 'admin' ? dataset.owner : viewer, version, versionNamed, baseUrl };
  const body = await readDetails(options, dataset, asker, signal);
  await context.json(200, body, { etag: datasetTag(dataset.sync.meta, body) });
}
