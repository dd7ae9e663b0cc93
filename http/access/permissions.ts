// /permissions: what the caller may do with each dataset. Reads the cache only, never an install target.

import { Readable } from 'node:stream';
import {
  type ActionAuthorization,
  ALL_ACTIONS,
  APPROVAL_STATUSES,
  type ApprovalStatus,
  actionsFor,
  isInForce,
  METADATA_ACTIONS,
  RESTRICTION_LEVELS,
  type RestrictionLevel,
} from '../../engine/model/access-request.ts';
import { parseDatasetId, type UserId } from '../../engine/model/ids.ts';
import { readsFiles, readsMetadata, type Standing } from '../../engine/model/status.ts';
import type {
  AccessCatalogue,
  CuratedDataset,
  Part,
  PartBatch,
  UserStudies,
  UserStudy,
} from '../../engine/ports/access-datasets.ts';
import type { Grants } from '../../engine/ports/access-requests.ts';
import { startingWith } from '../../engine/runtime/items.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { jsonMapReport } from '../kernel/answers/json-text.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { notFound } from '../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { registered } from './actor.ts';
import type { StudyIds } from './asked-dataset.ts';

const Actions = Type.Named('Actions', {
  studyMetadata: Type.Boolean(),
  subsetting: Type.Boolean(),
  visualizations: Type.Boolean(),
  resultsFirstPage: Type.Boolean(),
  resultsAll: Type.Boolean(),
});

const PermissionEntry = Type.Named('PermissionEntry', {
  studyId: Type.String(),
  sha1Hash: Type.String(),
  displayName: Type.String(),
  shortDisplayName: Type.String(),
  description: Type.String(),
  isUserStudy: Type.Boolean(),
  type: Type.Enum(['provider', 'end-user']),
  actionAuthorization: Actions,
  isManager: Type.Boolean(),
  accessRequestStatus: Type.Enum([...APPROVAL_STATUSES]),
  restrictionLevel: Type.Optional(
    Type.Enum([...RESTRICTION_LEVELS], {
      description: 'Of curated datasets. Of one that is prerelease, nobody has data yet',
    }),
  ),
});

const Permissions = Type.Named('Permissions', {
  isStaff: Type.Optional(Type.Boolean()),
  isOwner: Type.Optional(Type.Boolean()),
  perDataset: Type.Record(Type.String(), PermissionEntry),
});

const StudyPermission = Type.Named('StudyPermission', {
  studyId: Type.String(),
  datasetId: Type.String(),
  isUserStudy: Type.Boolean(),
  actionAuthorization: Actions,
});

export interface PermissionsOptions {
  readonly clock: Clock;
  readonly catalogue: Pick<AccessCatalogue, 'parts' | 'partIn'>;
  readonly userStudies: UserStudies;
  readonly grants: Grants;
  /** Whether every curated dataset is listed if the request has no `all`. */
  readonly listAll: boolean;
  readonly studyIds: StudyIds;
}

const NOTHING: PartBatch = { isStaff: false, isOwner: false, parts: [] };

interface Entry {
  readonly studyId: string;
  readonly sha1Hash: string;
  readonly displayName: string;
  readonly shortDisplayName: string;
  readonly description: string;
  readonly isUserStudy: boolean;
  readonly type: 'provider' | 'end-user';
  readonly actionAuthorization: ActionAuthorization;
  readonly isManager: boolean;
  readonly accessRequestStatus: ApprovalStatus;
  readonly restrictionLevel?: RestrictionLevel;
}

export function permissionRoutes(options: PermissionsOptions): readonly Route[] {
  const access = 'user-or-guest';
  return [
    {
      method: 'GET',
      audit: 'none',
      path: '/permissions',
      access,
      operationId: 'getPermissions',
      summary: 'Shows what the caller may do with each dataset',
      query: {
        all: {
          description: 'List every curated dataset, not only those related to the caller',
          schema: { type: 'boolean', default: options.listAll },
        },
      },
      responses: { 200: answer('Roles, and permissions by dataset id', Permissions), ...refusals({}) },
      handler: (context) => listAll(options, context),
    },
    {
      method: 'GET',
      audit: 'none',
      path: '/permissions/:study',
      access,
      operationId: 'getStudyPermission',
      summary: 'Shows what the caller may do with a study',
      params: {
        study: {
          description: 'Study id or dataset id; user studies with or without their prefix',
          schema: { type: 'string' },
        },
      },
      responses: {
        200: answer('The permissions', StudyPermission),
        ...refusals({ 404: 'No such study, or a private study of another user' }),
      },
      handler: (context) => one(options, context),
    },
  ];
}

async function listAll(options: PermissionsOptions, context: RequestContext): Promise<void> {
  const { signal } = context;
  const userId = registered(context);
  const which = (context.query.all ?? options.listAll) ? 'all' : 'own';
  const partBatches = options.catalogue.parts(userId, which, signal)[Symbol.asyncIterator]();
  const [own, first] = await Promise.all([ownStudies(options, userId, signal), partBatches.next()]);
  const { isStaff, isOwner } = first.done ? NOTHING : first.value;
  const asked = new Map<string, Part>();
  const now = options.clock.now();
  const entries = async function* (): AsyncGenerator<readonly NamedEntry[], void, undefined> {
    for await (const { parts } of startingWith(first.done ? [] : [first.value], partBatches)) {
      // The user's own studies are listed below, with more rights than a request gives.
      for (const part of parts) if (own.roots.has(part.dataset.datasetId)) asked.set(part.dataset.datasetId, part);
      const others = parts.filter((part) => !own.roots.has(part.dataset.datasetId));
      const curated = others.filter((part) => part.dataset.owner === undefined);
      yield curated.map((part): NamedEntry => [part.dataset.datasetId, curatedEntry(part, isStaff, now)]);
      if (userId !== undefined) yield* askedStudies(options, userId, others, now, signal);
    }
    for await (const studies of own.batches)
      yield studies.map((study) => userEntry(options, study, asked.get(study.root), now));
  };
  const head = { ...(isStaff ? { isStaff } : {}), ...(isOwner ? { isOwner } : {}) };
  // `perDataset` is sent even if it is empty, because deployed front ends rely on it.
  await jsonMapReport(context, { head, name: 'perDataset', entries: entries() });
}

interface OwnStudies {
  /** The originals of all of them. */
  readonly roots: ReadonlySet<string>;
  readonly batches: AsyncIterable<readonly UserStudy[]>;
}

/** Usually there is one batch, which has all roots. */
async function ownStudies(
  { userStudies }: PermissionsOptions,
  user: UserId | undefined,
  signal: AbortSignal,
): Promise<OwnStudies> {
  if (user === undefined) return { roots: new Set(), batches: Readable.from([]) };
  const batches = userStudies.own(user, signal)[Symbol.asyncIterator]();
  const begun: (readonly UserStudy[])[] = [];
  for (let next = await batches.next(); !next.done && begun.push(next.value) < 2; next = await batches.next());
  const roots = begun.length < 2 ? begun.flat().map((study) => study.root) : await userStudies.ownRoots(user, signal);
  return { roots: new Set(roots), batches: startingWith(begun, batches) };
}

/** Users' datasets that the user requested access to, or provides, and whose metadata the user may read. */
async function* askedStudies(
  options: PermissionsOptions,
  user: UserId,
  parts: readonly Part[],
  nowMs: number,
  signal: AbortSignal,
): AsyncGenerator<readonly NamedEntry[], void, undefined> {
  const byRoot = new Map<string, Part>(
    parts.filter((part) => part.dataset.owner !== undefined).map((part) => [part.dataset.datasetId, part]),
  );
  const roots = [...byRoot.keys()].map(parseDatasetId).filter((id) => id !== undefined);
  for await (const studies of options.userStudies.newest(roots, user, signal))
    yield studies
      .filter(
        (study) => study.owner === byRoot.get(study.root)?.dataset.owner && readsMetadata(standingOf(study, false)),
      )
      .map((study) => userEntry(options, study, byRoot.get(study.root), nowMs));
}

type NamedEntry = readonly [datasetId: string, Entry];

async function one(options: PermissionsOptions, context: RequestContext): Promise<void> {
  const { signal } = context;
  const userId = registered(context);
  const asked = context.param('study');
  const absent = (): Error => notFound(`there is no study '${asked.slice(0, 64)}'`);
  // PostgreSQL cannot store such text.
  if (asked.includes('\u0000') || !asked.isWellFormed()) throw absent();
  const found = await options.catalogue.partIn(userId, asked, signal);
  if (found && found.part.dataset.owner === undefined) {
    const { part, isStaff } = found;
    const { studyId, datasetId } = part.dataset;
    const actionAuthorization = curatedActions(part, isStaff, options.clock.now());
    return context.json(200, { studyId, datasetId, isUserStudy: false, actionAuthorization });
  }
  const datasetId = parseDatasetId(options.studyIds.bare(asked));
  const study = datasetId && (await options.userStudies.find(datasetId, userId, signal));
  if (!study || !readsMetadata(standingOf(study, false))) throw absent();
  const granted =
    userId !== undefined &&
    !readsFiles(standingOf(study, false)) &&
    (await options.grants.holds(userId, study, new Date(options.clock.now()), signal));
  return context.json(200, {
    studyId: options.studyIds.shown(datasetId),
    datasetId,
    isUserStudy: true,
    actionAuthorization: userActions(study, granted),
  });
}

const standingOf = ({ visibility, part }: UserStudy, granted: boolean): Standing => ({
  visibility,
  given: part !== undefined,
  granted,
});

/** Whoever may read the files may do everything. Others may read the metadata. */
const userActions = (study: UserStudy, granted: boolean): ActionAuthorization =>
  readsFiles(standingOf(study, granted)) ? ALL_ACTIONS : METADATA_ACTIONS;

function curatedActions(
  { dataset, isManager, grant }: Part<Pick<CuratedDataset, 'restrictionLevel'>>,
  isStaff: boolean,
  nowMs: number,
): ActionAuthorization {
  const granted = grant !== undefined && isInForce(grant, nowMs);
  return actionsFor(dataset.restrictionLevel, isStaff || isManager !== undefined || granted);
}

function curatedEntry(part: Part, isStaff: boolean, nowMs: number): Entry {
  const { studyId, sha1Hash, displayName, shortDisplayName, description } = part.dataset;
  return {
    ...{ studyId, sha1Hash, displayName, shortDisplayName, description },
    isUserStudy: false,
    type: part.isManager === undefined ? 'end-user' : 'provider',
    actionAuthorization: curatedActions(part, isStaff, nowMs),
    isManager: part.isManager ?? false,
    accessRequestStatus: part.grant?.approvalStatus ?? 'unrequested',
    restrictionLevel: part.dataset.restrictionLevel,
  };
}

/** @param asked the user's role as provider, or the user's request, besides owning the dataset or having accepted it */
function userEntry(
  { studyIds }: Pick<PermissionsOptions, 'studyIds'>,
  study: UserStudy,
  asked: Part | undefined,
  nowMs: number,
): NamedEntry {
  const { datasetId, name, summary, part } = study;
  const isOwner = part === 'owner';
  const provides = asked?.isManager !== undefined;
  const grant = asked?.dataset.owner === study.owner ? asked.grant : undefined;
  const studyId = studyIds.shown(datasetId);
  const entry: Entry = {
    studyId,
    sha1Hash: '',
    displayName: name,
    shortDisplayName: name,
    description: summary,
    isUserStudy: true,
    type: isOwner || provides ? 'provider' : 'end-user',
    actionAuthorization: userActions(study, grant !== undefined && isInForce(grant, nowMs)),
    isManager: isOwner || asked?.isManager === true,
    accessRequestStatus: grant?.approvalStatus ?? 'unrequested',
  };
  return [studyId, entry];
}
