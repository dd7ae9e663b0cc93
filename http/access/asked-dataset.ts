// The dataset that a request is about. Users' datasets that are protected or controlled are datasets of this service without
// being imported: the first request about one enters it (engine/ports/entered-datasets.ts). Any of its revisions means the
// dataset as a whole, under the id of the original.

import { type CuratedId, parseCuratedId, type RequestKey } from '../../engine/model/access-request.ts';
import { parseDatasetId } from '../../engine/model/ids.ts';
import type { CuratedDataset } from '../../engine/ports/access-catalogue.ts';
import type { EnteredDatasets } from '../../engine/ports/entered-datasets.ts';
import type { UserDatasets } from '../../engine/ports/user-datasets.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { StudyIds } from './study-ids.ts';

export interface AskedDatasetOptions {
  readonly studyIds: StudyIds;
  readonly userDatasets: UserDatasets;
  readonly entered: Pick<EnteredDatasets, 'enter'>;
  readonly clock: Clock;
}

export interface AskedDataset {
  readonly id: CuratedId;
  /** A user's, and anybody may ask for it. */
  readonly isOpen: boolean;
}

/**
 * Undefined when no dataset can have the id. Nothing else tells what exists: a private dataset takes the same statements as
 * one that is not there.
 */
export async function askedDataset(
  options: AskedDatasetOptions,
  asked: unknown,
  signal: AbortSignal,
): Promise<AskedDataset | undefined> {
  const id = parseCuratedId(options.studyIds.bare(asked));
  const userId = id && parseDatasetId(id);
  if (!id || !userId) return undefined;
  const found = await options.userDatasets.find(userId, signal);
  const root = found?.visibility === 'protected' ? parseCuratedId(found.root) : undefined;
  if (!found || !root) return { id, isOpen: false };
  await options.entered.enter(found, { user: '0', at: new Date(options.clock.now()) }, signal);
  return { id: root, isOpen: true };
}

/** Of `{user id}-{dataset id}`. */
export async function askedRequest(
  options: AskedDatasetOptions,
  asked: string,
  signal: AbortSignal,
): Promise<RequestKey | undefined> {
  const key = options.studyIds.requestKey(asked);
  const dataset = key && (await askedDataset(options, key.datasetId, signal));
  return dataset && { userId: key.userId, datasetId: dataset.id };
}

/** Whether new people may be entered for it: a user's dataset is closed to them while it is private, public or gone. */
export const isAskable = ({ isOpen }: AskedDataset, { owner }: Pick<CuratedDataset, 'owner'>): boolean =>
  isOpen || owner === undefined;
