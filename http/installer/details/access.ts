// Who may see a dataset. Whoever cannot see it must not learn that it exists: 404, unless the person already knew of
// it, which is answered 410 (docs/design/decisions.md#identity-versions-errors).

import { readsMetadata } from '../../../engine/model/dataset-reading.ts';
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

const shareOf = ({ shares }: SharedDataset, viewer: Viewer): ShareRecord | undefined =>
  shares.find((item) => item.recipient === viewer);

/** The dataset is the viewer's own, or was given to the viewer. */
export function isGiven(dataset: SharedDataset, viewer: Viewer): boolean {
  if (viewer === 'admin' || dataset.owner === viewer) return true;
  const share = shareOf(dataset, viewer);
  return share?.granted === true && share.accepted;
}

/**
 * visible: the owner, a recipient who accepted a standing offer, anybody when it is not private.
 * gone: deleted, revoked or made private again, and the viewer could have seen it before.
 */
export function sightOf(dataset: SharedDataset, viewer: Viewer): Sight {
  if (viewer === 'admin') return 'visible';
  const owns = dataset.owner === viewer;
  const share = shareOf(dataset, viewer);
  const published = dataset.metadata.firstPublished !== undefined;
  if (isDeleted(dataset.state)) return owns || share || published ? 'gone' : 'absent';
  if (readsMetadata({ visibility: dataset.metadata.visibility, given: isGiven(dataset, viewer) })) return 'visible';
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
