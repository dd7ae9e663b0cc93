// Who may see a dataset. Whoever cannot see it must not learn that it exists: 404, unless the person already knew of
// it, which is answered 410 (design, Identity, versions, errors).

import type { UserId } from '../../../engine/model/ids.ts';
import { isDeleted } from '../../../engine/model/status.ts';
import type { DatasetRecord } from '../../../engine/ports/catalog.ts';
import type { ShareRecord } from '../../../engine/ports/dataset-queries.ts';

export type Sight = 'visible' | 'gone' | 'absent';

/** What of a dataset decides who sees it. */
export interface SharedDataset extends Pick<DatasetRecord, 'owner' | 'state' | 'metadata'> {
  readonly shares: readonly ShareRecord[];
}

/**
 * An administrator sees every dataset, deleted ones too. A guest sees what is not private, whatever the number in the
 * token: it may be that of a user.
 */
export type Viewer = UserId | 'admin' | 'guest';

/**
 * visible: the owner, a recipient who accepted a standing offer, anybody when it is not private.
 * gone: deleted, revoked or made private again, and the viewer could have seen it before.
 */
export function sightOf(dataset: SharedDataset, viewer: Viewer): Sight {
  if (viewer === 'admin') return 'visible';
  const owns = dataset.owner === viewer;
  const share = dataset.shares.find((item) => item.recipient === viewer);
  const published = dataset.metadata.firstPublished !== undefined;
  if (isDeleted(dataset.state)) return owns || share || published ? 'gone' : 'absent';
  if (owns || dataset.metadata.visibility !== 'private') return 'visible';
  if (share?.granted && share.accepted) return 'visible';
  return published || share?.granted === false ? 'gone' : 'absent';
}

/**
 * As {@link sightOf}, for a revision that was replaced. Its owner can change it no more: what is taken back of the
 * newest revision (its publication, a share, the dataset as a whole) is taken back of this one too.
 * @param newest undefined when none is live
 */
export function sightOfReplaced(dataset: SharedDataset, newest: SharedDataset | undefined, viewer: Viewer): Sight {
  const sight = sightOf(dataset, viewer);
  if (sight !== 'visible' || viewer === 'admin' || dataset.owner === viewer) return sight;
  return newest === undefined || sightOf(newest, viewer) === 'gone' ? 'gone' : 'visible';
}
