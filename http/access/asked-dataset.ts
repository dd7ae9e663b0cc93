// The dataset that a request names. Users' datasets that are protected or controlled are datasets of this service without being
// imported: the first request for one enters it (engine/ports/access-datasets.ts). The id of any of its revisions stands for
// the dataset as a whole, whose id is that of the original.

import { type CuratedId, parseCuratedId, parseEndUserId, type RequestKey } from '../../engine/model/access-request.ts';
import { type DatasetId, parseDatasetId } from '../../engine/model/ids.ts';
import type { CuratedDataset, EnteredDatasets, UserDatasets } from '../../engine/ports/access-datasets.ts';
import type { Clock } from '../../engine/runtime/time.ts';

export interface AskedDatasetOptions {
  readonly studyIds: StudyIds;
  readonly userDatasets: UserDatasets;
  readonly entered: Pick<EnteredDatasets, 'enter'>;
  readonly clock: Clock;
}

interface AskedDataset {
  readonly id: CuratedId;
  /** It belongs to a user, and access can be requested. */
  readonly isOpen: boolean;
}

/**
 * Undefined when no dataset can have the id. Does not reveal what exists: a private dataset takes the same statements as an
 * unknown one.
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

/** The key in an id of the form `{user id}-{dataset id}`. */
export async function askedRequest(
  options: AskedDatasetOptions,
  asked: string,
  signal: AbortSignal,
): Promise<RequestKey | undefined> {
  const key = options.studyIds.requestKey(asked);
  const dataset = key && (await askedDataset(options, key.datasetId, signal));
  return dataset && { userId: key.userId, datasetId: dataset.id };
}

/** Whether new people can be entered for it. A user's dataset is closed while it is private, public or deleted. */
export const isAskable = ({ isOpen }: AskedDataset, { owner }: Pick<CuratedDataset, 'owner'>): boolean =>
  isOpen || owner === undefined;

/**
 * Ids of users' studies as front ends show them: deployed front ends put a prefix before the dataset's id. We answer with the
 * prefix, and accept ids with it and without it. No curated dataset's id may begin with the prefix.
 */
export class StudyIds {
  readonly #prefix: string;

  /** @param prefix empty = ids are shown unchanged */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  shown(dataset: DatasetId): string {
    return `${this.#prefix}${dataset}`;
  }

  /** The id of the dataset. @param asked may be no text if it comes from a body, whose schema has reported that already */
  bare(asked: unknown): string {
    const text = String(asked);
    return text.startsWith(this.#prefix) ? text.slice(this.#prefix.length) : text;
  }

  /** The key in an id of the form `{user id}-{dataset id}`. */
  requestKey(asked: string): RequestKey | undefined {
    const dataset = asked.indexOf('-') + 1;
    return parseEndUserId(asked.slice(0, dataset) + this.bare(asked.slice(dataset)));
  }
}
