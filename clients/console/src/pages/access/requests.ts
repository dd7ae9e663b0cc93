// What the access service says about datasets and requests, and the changes of requests.

import type { components } from '../../../../typescript/src/access.ts';
import { LongshoreError } from '../../../../typescript/src/index.ts';
import { type Loaded, useLoad } from '../../api/load.ts';
import type { access } from '../../api/session.ts';

export type Service = NonNullable<ReturnType<typeof access>>;
export type Permission = components['schemas']['PermissionEntry'];
export type Permissions = components['schemas']['Permissions'];
export type Request = components['schemas']['EndUser'];

export interface Named extends Permission {
  readonly datasetId: string;
}

export async function permissionsOf(service: Service, all: boolean, signal: AbortSignal): Promise<Permissions> {
  const { data } = await service.GET('/permissions', { params: { query: { all } }, signal });
  return data as Permissions;
}

export const namedOf = ({ perDataset }: Permissions): readonly Named[] =>
  Object.entries(perDataset).map(([datasetId, entry]) => ({ ...entry, datasetId }));

/** Every curated dataset, and the users' datasets that the caller has to do with. */
export const useEntries = (service: Service | undefined): Loaded<readonly Named[]> =>
  useLoad('permissions', async (signal) => (service ? namedOf(await permissionsOf(service, true, signal)) : []));

/** A user's dataset goes by its newest revision, and may have a prefix that front ends put before it. */
export const entryIn = (entries: readonly Named[] | undefined, id: string): Named | undefined =>
  entries?.find(({ datasetId }) => datasetId === id) ??
  entries?.find(({ datasetId, isUserStudy }) => isUserStudy && datasetId.replace(/_\d+$/, '').endsWith(id));

/** Its name, or its id as long as that is all that is known. */
export const nameIn = (entries: readonly Named[] | undefined, id: string): string =>
  entryIn(entries, id)?.displayName ?? id;

export interface Pending {
  readonly requests: readonly Request[];
  /** Fewer datasets were looked at than are managed. */
  readonly isCut: boolean;
}

/** Datasets that are looked at for somebody who manages them. */
export const MOST_MANAGED = 50;
const AT_ONCE = 4;
const MOST_REQUESTS = 200;

/** The requests with this status that the caller decides about. Owners of the site see those of all datasets. */
export async function requestsOf(
  service: Service,
  approval: Request['approvalStatus'],
  signal: AbortSignal,
): Promise<Pending> {
  const of = async (datasetId?: string): Promise<readonly Request[]> => {
    const { data } = await service.GET('/dataset-end-users', {
      params: { query: { approval, limit: MOST_REQUESTS, ...(datasetId === undefined ? {} : { datasetId }) } },
      signal,
    });
    return (data as { readonly data: readonly Request[] }).data;
  };
  const permissions = await permissionsOf(service, false, signal);
  if (permissions.isOwner) return { requests: await of(), isCut: false };
  const managed = namedOf(permissions).filter(({ isManager }) => isManager);
  const waiting = managed.slice(0, MOST_MANAGED).map(({ datasetId }) => datasetId);
  const requests: Request[] = [];
  const worker = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      requests.push(...(await of(id).catch(noneIfClosed)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { requests, isCut: managed.length > MOST_MANAGED };
}

/** A user's dataset that is private or public has no requests; the service then knows no such dataset. */
function noneIfClosed(error: unknown): readonly Request[] {
  if (error instanceof LongshoreError && (error.code === 403 || error.code === 404)) return [];
  throw error;
}

export const keyOf = ({ user, datasetId }: Pick<Request, 'user' | 'datasetId'>): string =>
  `${user.userId}-${datasetId}`;

interface Change {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

const patch = (service: Service, id: string, body: Change[]): Promise<unknown> =>
  service.PATCH('/dataset-end-users/{id}', { params: { path: { id } }, body });

/** @param days -1 for no end */
export const approve = (service: Service, id: string, days: number): Promise<unknown> =>
  patch(service, id, [
    { op: 'add', path: '/startDate', value: new Date().toISOString() },
    { op: 'add', path: '/duration', value: days },
    { op: 'replace', path: '/approvalStatus', value: 'approved' },
  ]);

export const deny = (service: Service, id: string, reason: string): Promise<unknown> =>
  patch(service, id, [
    { op: 'replace', path: '/approvalStatus', value: 'denied' },
    ...(reason === '' ? [] : [{ op: 'add', path: '/denialReason', value: reason }]),
  ]);

export const withdraw = (service: Service, id: string): Promise<unknown> =>
  service.DELETE('/dataset-end-users/{id}', { params: { path: { id } } });
