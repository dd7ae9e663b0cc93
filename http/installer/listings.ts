// GET /datasets: the caller's own datasets and those shared with the caller. GET /datasets/community: every dataset that is
// not private, for every user and guest. Both list the newest first, in constant memory
// (docs/contract/installer.md#dataset-listing), or what `list-query.ts` reads: found, sorted, in pages.

import type { Static } from 'typebox';
import type { DataTypes } from '../../engine/model/data-types.ts';
import type { TargetId, UserId } from '../../engine/model/ids.ts';
import type { Accounts } from '../../engine/ports/access-people.ts';
import type { DatasetQueries, ListedDataset, ListSelection, Ownership } from '../../engine/ports/dataset-queries.ts';
import { flattened, type Items, mapped } from '../../engine/runtime/items.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { answer, type Route, type RouteResponse, refusals } from '../kernel/pipeline/route.ts';
import {
  DatasetTypeOutput,
  Datetime,
  InstallTargetIds,
  StatusBlock,
  statusBlock,
  typeView,
  VdiId,
  VisibilityOutput,
  visibilityView,
} from './dataset-terms.ts';
import type { InstallTargets } from './install-targets.ts';
import { askedList, listParameters } from './list-query.ts';
import { InstallTargetId } from './metadata/create-details.ts';
import { askedTarget, inBatches, paging, pagingOf } from './paging.ts';
import {
  findProfiles,
  ListedShare,
  listedShareView,
  NOBODY,
  Owner,
  ownerView,
  type Profiles,
  showsPeople,
} from './people.ts';

const ListingItem = Type.Named('ListingItem', {
  datasetId: VdiId,
  owner: Owner,
  type: DatasetTypeOutput,
  visibility: VisibilityOutput,
  name: Type.String(),
  origin: Type.String(),
  installTargets: InstallTargetIds,
  status: StatusBlock,
  shares: Type.Array(ListedShare),
  fileCount: Type.Integer({ minimum: 0 }),
  fileSizeTotal: Type.Integer({ minimum: 0, format: 'int64' }),
  created: Datetime,
  summary: Type.String(),
  description: Type.Optional(Type.String()),
  originalId: Type.Optional(VdiId),
});
type ListingItem = Static<typeof ListingItem>;

const Listing = Type.Array(ListingItem);

interface ListingView {
  readonly viewer: UserId;
  readonly profiles: Profiles;
  readonly dataTypes: DataTypes;
  /** The request names its interface version (`statusBlock`). */
  readonly versionNamed: boolean;
  /** Guests see people only where the dataset is public. */
  readonly guest: boolean;
  /** Show the install status of this target alone. */
  readonly target?: TargetId | undefined;
}

/** Only the owner sees shares: the offers that stand, accepted or not. */
export function listingItem(dataset: ListedDataset, view: ListingView): ListingItem {
  const { metadata } = dataset;
  const originalId = metadata.revisionHistory?.originalId;
  const shares = dataset.owner === view.viewer ? dataset.shares.filter((share) => share.granted) : [];
  return {
    datasetId: dataset.dataset,
    owner: ownerView(dataset.owner, showsPeople(metadata, view.guest) ? view.profiles : NOBODY),
    type: typeView(metadata.type, view.dataTypes),
    visibility: visibilityView(metadata),
    name: metadata.name,
    origin: metadata.origin,
    installTargets: [...metadata.installTargets],
    status: statusBlock(
      dataset,
      view.target ? [view.target] : metadata.installTargets,
      dataset.installs,
      view.versionNamed,
    ),
    shares: shares.map((share) => listedShareView(share, view.profiles)),
    fileCount: dataset.fileCount,
    fileSizeTotal: dataset.fileBytes,
    created: metadata.created,
    summary: metadata.summary,
    ...(metadata.description === undefined ? {} : { description: metadata.description }),
    ...(originalId === undefined || originalId === dataset.dataset ? {} : { originalId }),
  };
}

/** The people whose profiles the item may show. */
export function peopleOf(dataset: ListedDataset, viewer: UserId): readonly UserId[] {
  return dataset.owner === viewer
    ? [dataset.owner, ...dataset.shares.filter((share) => share.granted).map((share) => share.recipient)]
    : [dataset.owner];
}

interface ListingSources {
  readonly queries: Pick<DatasetQueries, 'list' | 'page' | 'count'>;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly dataTypes: DataTypes;
}

function listing(
  { accounts, dataTypes }: ListingSources,
  datasets: AsyncIterable<ListedDataset>,
  { viewer, target, isGuest: guest = false }: ListSelection,
  { signal, versionNamed }: Pick<RequestContext, 'signal' | 'versionNamed'>,
): Items<ListingItem> {
  // A listing mostly has few owners, so the profiles of one batch are kept for the next.
  let profiles: Profiles | undefined;
  const items = mapped(inBatches(datasets), async (batch) => {
    const people = batch.flatMap((dataset) => peopleOf(dataset, viewer));
    const known = await findProfiles(accounts, people, signal, profiles);
    profiles = known;
    const view = { viewer, guest, versionNamed, profiles: known, dataTypes, target };
    return batch.map((dataset) => listingItem(dataset, view));
  });
  return flattened(items);
}

/** @param shown changes what is shown of a dataset */
async function send(
  options: ListOptions,
  context: RequestContext,
  path: string,
  ownership: ListSelection['ownership'],
  shown: (item: ListingItem) => ListingItem = (item) => item,
): Promise<void> {
  const { query, signal, userId: viewer } = context;
  const target = askedTarget(options.targets, 'install_target', query.install_target);
  const asked = askedList(context, path, { viewer, ownership, ...(target === undefined ? {} : { target }) });
  const { selection, order } = asked;
  const counting = asked.isCounted ? options.queries.count(selection, order, signal) : undefined;
  // A failure is reported by the await below, unless the page fails first.
  counting?.catch(() => undefined);
  const page = asked.page && (await options.queries.page(selection, order, asked.page, signal));
  const total = await counting;
  const datasets = page ? page.datasets : options.queries.list({ ...selection, ...pagingOf(query) }, signal);
  await context.jsonList(mapped(listing(options, datasets, selection, context), shown), {
    ...(page?.next ? { link: asked.linkTo(page.next) } : {}),
    ...(total === undefined ? {} : { 'x-total-count': String(total) }),
  });
}

interface ListOptions extends ListingSources {
  readonly targets: InstallTargets;
}

const installTargetQuery = {
  install_target: {
    description: 'Only datasets of this install target, with only its install status',
    schema: { ...InstallTargetId },
  },
};

const OWNERSHIPS: readonly Ownership[] = ['any', 'owned', 'shared'];

const listAnswer = (description: string): RouteResponse => ({
  ...answer(description, Listing),
  headers: {
    Link: { description: 'The next page, as `rel="next"`; absent on the last page', schema: { type: 'string' } },
    'X-Total-Count': { description: 'With `total`: datasets on all pages', schema: { type: 'integer' } },
  },
});

export function listRoute(options: ListOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/datasets',
    access: 'user',
    operationId: 'listDatasets',
    summary: 'Lists datasets that the caller owns or that are shared with the caller',
    query: {
      ...installTargetQuery,
      ownership: {
        description: 'Only owned datasets, or only shared datasets',
        schema: { enum: OWNERSHIPS, default: 'any' },
      },
      ...paging,
      ...listParameters,
    },
    responses: {
      200: listAnswer('Datasets, newest first unless sorted otherwise'),
      304: { description: 'Not modified: the caller has the current version' },
      ...refusals({ 400: 'A query parameter is invalid', 403: 'Guests have no datasets' }),
    },
    handler: (context) => {
      const ownership = OWNERSHIPS.find((one) => one === context.query.ownership) ?? 'any';
      return send(options, context, '/datasets', ownership);
    },
  };
}

export function communityRoute(options: ListOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/datasets/community',
    access: 'user-or-guest',
    operationId: 'listCommunityDatasets',
    summary: 'Lists datasets that are not private',
    query: { ...installTargetQuery, ...paging, ...listParameters },
    responses: {
      200: listAnswer('Datasets, newest first unless sorted otherwise, without shares'),
      304: { description: 'Not modified: the caller has the current version' },
      ...refusals({ 400: 'A query parameter is invalid' }),
    },
    // This list shows no shares, not even to the owner.
    handler: (context) =>
      send(options, context, '/datasets/community', 'community', (item) => ({ ...item, shares: [] })),
  };
}
