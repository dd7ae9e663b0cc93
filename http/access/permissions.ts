// /permissions: what the caller may do with which dataset. No install target is asked.

import type { ApprovalStatus } from '../../engine/model/access-request.ts';
import {
  type ActionAuthorization,
  ALL_ACTIONS,
  actionsFor,
  isInForce,
  NO_ACTIONS,
} from '../../engine/model/access-rights.ts';
import { parseDatasetId } from '../../engine/model/ids.ts';
import type { AccessCatalogue, CuratedDataset, Part, PartBatch } from '../../engine/ports/access-catalogue.ts';
import type { UserStudies, UserStudy } from '../../engine/ports/user-studies.ts';
import type { Clock } from '../../engine/time.ts';
import type { RequestContext } from '../context.ts';
import { notFound } from '../errors.ts';
import { jsonMapReport } from '../json-map.ts';
import { answer, refusals } from '../responses.ts';
import type { Route } from '../route.ts';
import { registered } from './actor.ts';
import { Permissions, StudyPermission } from './schema.ts';
import type { StudyIds } from './study-ids.ts';

export interface PermissionsOptions {
  readonly clock: Clock;
  readonly catalogue: Pick<AccessCatalogue, 'parts' | 'partIn'>;
  readonly userStudies: UserStudies;
  /** Whether every curated dataset is listed when the request does not say. */
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
}

export function permissionRoutes(options: PermissionsOptions): readonly Route[] {
  const access = 'user-or-guest';
  return [
    {
      method: 'GET',
      path: '/permissions',
      access,
      operationId: 'getPermissions',
      summary: 'What the caller may do with which dataset',
      query: {
        all: {
          description: 'Whether every curated dataset is listed, or only those that the caller has to do with',
          schema: { type: 'boolean', default: options.listAll },
        },
      },
      responses: { 200: answer('Roles, and permissions by dataset id', Permissions), ...refusals({}) },
      handler: (context) => listAll(options, context),
    },
    {
      method: 'GET',
      path: '/permissions/:study',
      access,
      operationId: 'getStudyPermission',
      summary: 'What the caller may do with one study',
      params: {
        study: {
          description: 'Study id, or dataset id; of a user study with its prefix or without',
          schema: { type: 'string' },
        },
      },
      responses: { 200: answer('The permissions', StudyPermission), ...refusals({ 404: 'No such study' }) },
      handler: (context) => one(options, context),
    },
  ];
}

async function listAll(options: PermissionsOptions, context: RequestContext): Promise<void> {
  const { signal } = context;
  const userId = registered(context);
  const which = (context.query.all ?? options.listAll) ? 'all' : 'own';
  const batches = options.catalogue.parts(userId, which, signal)[Symbol.asyncIterator]();
  const [studies, first] = await Promise.all([
    userId === undefined ? [] : options.userStudies.own(userId, signal),
    batches.next(),
  ]);
  const { isStaff, isOwner, parts } = first.done ? NOTHING : first.value;
  const own = new Set<string>(studies.map((study) => study.datasetId));
  const now = options.clock.now();
  const head = { ...(isStaff ? { isStaff } : {}), ...(isOwner ? { isOwner } : {}) };
  // A user's study of the same id takes the place of a curated dataset.
  const entriesOf = (batch: readonly Part[]): readonly NamedEntry[] =>
    batch
      .filter((part) => !own.has(part.dataset.datasetId))
      .map((part) => [part.dataset.datasetId, curatedEntry(part, isStaff, now)]);
  const known = entriesOf(parts);
  // Mostly there is no other batch, and the answer goes out in one piece.
  const next = await batches.next();
  const ownEntries = studies.map((study): NamedEntry => {
    const id = options.studyIds.shown(study.datasetId);
    return [id, userEntry(study, id)];
  });
  // Also when it is empty: pages of deployed front ends look into it without asking.
  if (next.done) return context.json(200, { ...head, perDataset: Object.fromEntries([...known, ...ownEntries]) });
  const rest = async function* (): AsyncGenerator<readonly NamedEntry[], void, undefined> {
    yield known;
    for (let batch: IteratorResult<PartBatch> = next; !batch.done; batch = await batches.next())
      yield entriesOf(batch.value.parts);
    yield ownEntries;
  };
  return jsonMapReport(context, { head, name: 'perDataset', entries: rest() });
}

type NamedEntry = readonly [datasetId: string, Entry];

async function one(options: PermissionsOptions, context: RequestContext): Promise<void> {
  const { signal } = context;
  const userId = registered(context);
  const asked = context.param('study');
  const absent = (): Error => notFound(`there is no study '${asked.slice(0, 64)}'`);
  // No database could look for it.
  if (asked.includes('\u0000') || !asked.isWellFormed()) throw absent();
  const found = await options.catalogue.partIn(userId, asked, signal);
  if (found) {
    const { part, isStaff } = found;
    const { studyId, datasetId } = part.dataset;
    const actionAuthorization = curatedActions(part, isStaff, options.clock.now());
    return context.json(200, { studyId, datasetId, isUserStudy: false, actionAuthorization });
  }
  const datasetId = parseDatasetId(options.studyIds.bare(asked));
  const study = datasetId && (await options.userStudies.find(datasetId, userId, signal));
  if (!study) throw absent();
  // That it exists is told, so that whoever asks for somebody can tell them that it is not theirs to see.
  const actionAuthorization = study.part ? ALL_ACTIONS : NO_ACTIONS;
  return context.json(200, {
    studyId: options.studyIds.shown(datasetId),
    datasetId,
    isUserStudy: true,
    actionAuthorization,
  });
}

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
  };
}

function userEntry({ name, summary, part }: UserStudy, studyId: string): Entry {
  const isOwner = part === 'owner';
  return {
    studyId,
    sha1Hash: '',
    displayName: name,
    shortDisplayName: name,
    description: summary,
    isUserStudy: true,
    type: isOwner ? 'provider' : 'end-user',
    actionAuthorization: ALL_ACTIONS,
    isManager: isOwner,
    accessRequestStatus: 'unrequested',
  };
}
