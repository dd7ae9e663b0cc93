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
import type { AccessCatalogue, Part } from '../../engine/ports/access-catalogue.ts';
import type { UserStudies, UserStudy } from '../../engine/ports/user-studies.ts';
import type { RequestContext } from '../context.ts';
import { notFound } from '../errors.ts';
import { answer, refusals } from '../installer/responses.ts';
import type { Route } from '../route.ts';
import { type ActorOptions, actorOf, registered } from './actor.ts';
import { Permissions, StudyPermission } from './schema.ts';

export interface PermissionsOptions extends ActorOptions {
  readonly catalogue: Pick<AccessCatalogue, 'parts' | 'partIn'>;
  readonly userStudies: UserStudies;
  /** Whether every curated dataset is listed when the request does not say. */
  readonly listAll: boolean;
}

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
      params: { study: { description: 'Study id, or dataset id', schema: { type: 'string' } } },
      responses: { 200: answer('The permissions', StudyPermission), ...refusals({ 404: 'No such study' }) },
      handler: (context) => one(options, context),
    },
  ];
}

async function listAll(options: PermissionsOptions, context: RequestContext): Promise<void> {
  const { signal } = context;
  const userId = registered(context);
  const { roles } = await actorOf(options, context);
  const which = (context.query.all ?? options.listAll) ? 'all' : 'own';
  const [parts, studies] = await Promise.all([
    options.catalogue.parts(userId, which, signal),
    userId === undefined ? [] : options.userStudies.own(userId, signal),
  ]);
  const now = options.clock.now();
  const entries: (readonly [string, Entry])[] = [
    ...parts.map((part) => [part.dataset.datasetId, curatedEntry(part, roles.isStaff, now)] as const),
    ...studies.map((study) => [study.datasetId, userEntry(study)] as const),
  ];
  await context.json(200, {
    ...(roles.isStaff ? { isStaff: true } : {}),
    ...(roles.isOwner ? { isOwner: true } : {}),
    ...(entries.length > 0 ? { perDataset: Object.fromEntries(entries) } : {}),
  });
}

async function one(options: PermissionsOptions, context: RequestContext): Promise<void> {
  const { signal } = context;
  const userId = registered(context);
  const asked = context.param('study');
  const absent = notFound(`there is no study '${asked.slice(0, 64)}'`);
  // No database could look for it.
  if (asked.includes('\u0000') || !asked.isWellFormed()) throw absent;
  const part = await options.catalogue.partIn(userId, asked, signal);
  if (part) {
    const { roles } = await actorOf(options, context);
    const { studyId, datasetId } = part.dataset;
    const actionAuthorization = curatedActions(part, roles.isStaff, options.clock.now());
    return context.json(200, { studyId, datasetId, isUserStudy: false, actionAuthorization });
  }
  const datasetId = parseDatasetId(asked);
  const study = datasetId && (await options.userStudies.find(datasetId, userId, signal));
  if (!study) throw absent;
  // That it exists is told, so that whoever asks for somebody can tell them that it is not theirs to see.
  const actionAuthorization = study.part ? ALL_ACTIONS : NO_ACTIONS;
  return context.json(200, { studyId: datasetId, datasetId, isUserStudy: true, actionAuthorization });
}

function curatedActions({ dataset, isManager, grant }: Part, isStaff: boolean, nowMs: number): ActionAuthorization {
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

function userEntry({ datasetId, name, summary, part }: UserStudy): Entry {
  const isOwner = part === 'owner';
  return {
    studyId: datasetId,
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
