// Whether one dataset has to be looked at, told from the listing of its keys and from what the databases know. Pure. What
// exactly is to be done about it is found out by the reconciliation lane, which looks again under the dataset's lease.

import type { DataTypes } from '../engine/model/data-types.ts';
import type { TargetId } from '../engine/model/ids.ts';
import { type DatasetState, isDeleted } from '../engine/model/status.ts';
import type { IndexedDataset } from '../engine/ports/dataset-index.ts';
import type { ControlState } from '../engine/ports/install-target.ts';
import type { ObjectInfo } from '../engine/ports/object-store.ts';
import { combinedVersion, sameVersion, sharesInSync, sharesVersion, versionOf } from './dataset-versions.ts';
import type { MergedDataset } from './merge-in-store-order.ts';
import { dataAreDue, isInstalled, isUninstalled, metaIsCurrent } from './site-state.ts';
import type { StoredDataset } from './stored-dataset.ts';

export type Verdict =
  | { readonly kind: 'in-sync' }
  /** `newMetadata`: nobody has read the metadata as they are now; they may be malformed. */
  | { readonly kind: 'reconcile'; readonly reason: string; readonly newMetadata: boolean }
  /** No object in the store, but known to a database: a candidate for deletion. */
  | { readonly kind: 'absent' }
  /** Objects without metadata: the dataset exists, and nothing can be told about it. */
  | { readonly kind: 'malformed' }
  /** Objects without metadata that came a moment ago: an upload, or a removal, under way. */
  | { readonly kind: 'arriving' };

export interface DecisionContext {
  /** Ms since 1970. */
  readonly now: number;
  readonly types: DataTypes;
  /** A full run goes on with what needs no hurry, and sees the install targets. */
  readonly full: boolean;
}

/** Objects younger than this may belong to an upload whose metadata are still to come. */
const ARRIVING_MS = 60 * 60_000;
/** A dependency that was missing is looked for again after a day, by full runs (design, Lanes, install). */
const DEPENDENCY_MS = 24 * 60 * 60_000;

const IN_SYNC: Verdict = { kind: 'in-sync' };
const because = (reason: string, newMetadata = false): Verdict => ({ kind: 'reconcile', reason, newMetadata });

export function decide({ stored, indexed, installed }: MergedDataset, context: DecisionContext): Verdict {
  // Past the point of no return its hard deletion goes on, seen to by the pruner.
  if (indexed?.state === 'pruning' || indexed?.state === 'receiving') return IN_SYNC;
  if (!stored) return { kind: 'absent' };
  const meta = stored.objects['vdi-meta.json'];
  if (!meta) return newest(stored) > context.now - ARRIVING_MS ? { kind: 'arriving' } : { kind: 'malformed' };
  if (!indexed) return because('not in the cache', true);

  const due = stateIsDue(stored, indexed.state);
  if (due) return because(due);
  const known = [...installed].filter(([id]) => indexed.installTargets.includes(id));
  if (indexed.state !== 'live') {
    const left = known.find(([, state]) => state && !isUninstalled(state));
    if (left) return because(`not uninstalled from ${left[0]}`);
    return context.full && indexed.state === 'deleting' ? because('its deletion has not ended') : IN_SYNC;
  }
  if (!sameVersion(indexed.sync.meta, meta)) return because('its metadata have changed', true);
  if (!sharesInSync(indexed.sync.shares, sharesVersion(stored.shares))) return because('its shares have changed');
  const reason = filesAreDue(stored, indexed) ?? targetsAreDue(stored, meta, indexed, known, context);
  return reason === undefined ? IN_SYNC : because(reason);
}

function stateIsDue({ objects }: StoredDataset, state: DatasetState): string | undefined {
  if (objects['delete-flag']) return isDeleted(state) ? undefined : 'it was deleted';
  if (isDeleted(state)) return 'its deletion was taken back';
  if (objects['revised-flag']) return state === 'superseded' ? undefined : 'it was superseded';
  return state === 'live' ? undefined : 'it is superseded no more';
}

/** Upload and import, from what they leave behind. */
function filesAreDue({ objects, raw }: StoredDataset, indexed: IndexedDataset): string | undefined {
  const data = objects['install-ready.zip'];
  const imported = data !== undefined && objects['vdi-manifest.json'] !== undefined;
  if (!objects['import-ready.zip']) {
    const refused = indexed.upload === 'rejected' || indexed.upload === 'failed';
    if (objects['upload-error.json'] && !refused) return 'its upload was refused';
    // Its import can no longer be repeated, nor need it be.
    if (imported && indexed.upload === 'success' && indexed.import !== 'complete') return 'its import has ended';
    return undefined;
  }
  if (indexed.upload !== 'success') return 'its upload has ended';
  if (raw.length > 0) return 'its raw upload is left over';
  switch (indexed.import) {
    case 'queued':
    case 'in-progress':
      return 'its import has not ended';
    case 'complete':
      if (!imported) return 'its import left too little';
      return sameVersion(indexed.sync.data, data) ? undefined : 'its data have changed';
    // Final answers, until somebody asks again.
    case 'invalid':
    case 'failed':
      return undefined;
    default:
      return indexed.import satisfies never;
  }
}

function targetsAreDue(
  stored: StoredDataset,
  meta: ObjectInfo,
  indexed: IndexedDataset,
  installed: readonly (readonly [TargetId, ControlState | undefined])[],
  { types, now }: DecisionContext,
): string | undefined {
  const data = stored.objects['install-ready.zip'];
  const type = types.find(indexed.type);
  if (!data || !type || indexed.upload !== 'success' || indexed.import !== 'complete') return undefined;
  const version = combinedVersion(versionOf(meta), stored.properties);
  for (const [id, state] of installed) {
    if (!types.appliesTo(type, id)) continue;
    if (!state?.present) return `not installed on ${id}`;
    if (state.deletedStatus !== 0) return `still deleted on ${id}`;
    if (dataAreDue(state, data)) return `its data are due on ${id}`;
    if (isInstalled(state) && !metaIsCurrent(state, version)) return `its metadata are due on ${id}`;
    if (!sharesInSync(state.sync.shares, sharesVersion(stored.shares))) return `its shares are due on ${id}`;
    const { data: message } = state.messages;
    if (message?.status === 'missing-dependency' && message.updated.getTime() <= now - DEPENDENCY_MS)
      return `a dependency was missing on ${id}`;
  }
  return undefined;
}

function newest({ objects, ...folders }: StoredDataset): number {
  const { properties, documents, raw, shares } = folders;
  const times = [...Object.values(objects), ...properties, ...documents, ...raw, ...shares].map(({ modified }) =>
    modified.getTime(),
  );
  return times.reduce((latest, time) => Math.max(latest, time), 0);
}
