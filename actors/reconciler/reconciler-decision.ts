// Decides whether one dataset needs work, from the listing of its keys and what the databases know. Pure. What exactly to do is
// decided by the reconciliation lane, which checks again under the dataset's lease.

import type { DataTypes } from '../../engine/model/data-types.ts';
import { type DatasetState, isDeleted } from '../../engine/model/status.ts';
import type { IndexedDataset, ObjectVersion } from '../../engine/ports/catalog.ts';
import { ABSENT, type InstalledState } from '../../engine/ports/install-target.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import {
  combinedVersion,
  dataAreDue,
  isInstalled,
  isUninstalled,
  metaIsCurrent,
  sameVersion,
  sharesInSync,
  sharesVersion,
  versionOf,
} from '../dataset/dataset-versions.ts';
import type { StoredDataset } from '../dataset/stored-dataset.ts';
import type { MergedDataset } from './merge-in-store-order.ts';

export type Verdict =
  | { readonly kind: 'in-sync' }
  /** `newMetadata`: the current metadata have not been read yet and may be malformed. */
  | { readonly kind: 'reconcile'; readonly reason: string; readonly newMetadata: boolean }
  /** No object in the store, but known to a database: a candidate for deletion. */
  | { readonly kind: 'absent' }
  /** Objects without metadata: the dataset exists, but nothing can be decided about it. */
  | { readonly kind: 'malformed' }
  /** Recent objects without metadata: an upload or a removal in progress. */
  | { readonly kind: 'arriving' };

export interface DecisionContext {
  /** Ms since 1970. */
  readonly now: number;
  readonly types: DataTypes;
  /** A full run also continues work that is not urgent, and compares the install targets. */
  readonly full: boolean;
}

/** Objects younger than this may belong to an upload that has not written its metadata yet. */
const ARRIVING_MS = 60 * 60_000;
/** Full runs check for a missing dependency again after a day (docs/design/decisions.md#lanes). */
const DEPENDENCY_MS = 24 * 60 * 60_000;

const IN_SYNC: Verdict = { kind: 'in-sync' };
const because = (reason: string, newMetadata = false): Verdict => ({ kind: 'reconcile', reason, newMetadata });

export function decide({ stored, indexed, installed }: MergedDataset, context: DecisionContext): Verdict {
  // Past the point of no return the pruner continues its hard deletion.
  if (indexed?.state === 'pruning' || indexed?.state === 'receiving') return IN_SYNC;
  if (!stored) return { kind: 'absent' };
  const meta = stored.objects['vdi-meta.json'];
  if (!meta) return newest(stored) > context.now - ARRIVING_MS ? { kind: 'arriving' } : { kind: 'malformed' };
  if (!indexed) return because('not in the cache', true);

  const due = stateIsDue(stored, indexed.state);
  if (due) return because(due);
  const shared = sharesInSync(indexed.sync.shares, sharesVersion(stored.shares));
  if (indexed.state !== 'live') {
    if (indexed.state === 'superseded' && !shared) return because('its shares have changed');
    const left = indexed.installTargets.find((id) => !isUninstalled(installed.get(id) ?? ABSENT));
    if (left) return because(`not uninstalled from ${left}`);
    return context.full && indexed.state === 'deleting' ? because('its deletion is not finished') : IN_SYNC;
  }
  if (!sameVersion(indexed.sync.meta, meta)) return because('its metadata have changed', true);
  if (!shared) return because('its shares have changed');
  const reason = filesAreDue(stored, indexed, context) ?? targetsAreDue(stored, meta, indexed, installed, context);
  return reason === undefined ? IN_SYNC : because(reason);
}

function stateIsDue({ objects }: StoredDataset, state: DatasetState): string | undefined {
  if (objects['delete-flag']) return isDeleted(state) ? undefined : 'it was deleted';
  if (isDeleted(state)) return 'it was undeleted';
  if (objects['revised-flag']) return state === 'superseded' ? undefined : 'it was superseded';
  return state === 'live' ? undefined : 'it is no longer superseded';
}

/** What upload and import still need, judged by the objects that they leave. */
function filesAreDue(
  { objects, raw }: StoredDataset,
  indexed: IndexedDataset,
  { full }: DecisionContext,
): string | undefined {
  const packed = objects['import-ready.zip'] !== undefined;
  const data = objects['install-ready.zip'];
  if (packed || data) {
    if (indexed.upload !== 'success') return 'its upload is finished';
    if (objects['upload-error.json']) return 'its upload error is left over';
    if (raw.length > 0) return 'its raw upload is left over';
  } else if (indexed.upload === 'running') {
    if (objects['upload-error.json']) return 'its upload was rejected';
    // Usually still in progress, so it is not urgent.
    return full ? 'its upload is not finished' : undefined;
  } else if (indexed.upload !== 'success') return undefined;
  switch (indexed.import) {
    case 'queued':
    case 'in-progress':
      return 'its import is not finished';
    case 'complete':
      // Without the packed upload the import cannot be repeated.
      if (!data || !objects['vdi-manifest.json']) return packed ? 'its import result is incomplete' : undefined;
      return sameVersion(indexed.sync.data, data) ? undefined : 'its data have changed';
    // Final until a person requests another attempt.
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
  installed: MergedDataset['installed'],
  { types, now }: DecisionContext,
): string | undefined {
  const data = stored.objects['install-ready.zip'];
  if (!data || indexed.upload !== 'success' || indexed.import !== 'complete') return undefined;
  const type = types.find(indexed.type);
  const shares = sharesVersion(stored.shares);
  const version = combinedVersion(versionOf(meta), stored.properties);
  for (const id of indexed.installTargets) {
    if (!installed.has(id)) continue;
    const state = installed.get(id);
    const reason = type && types.appliesTo(type, id) ? installIsDue(state, data, version, now) : undefined;
    if (reason) return `${reason} ${id}`;
    // Without a plugin nothing is installed, but what was installed before must still follow the shares.
    if (state?.present && state.deletedStatus === 0 && !sharesInSync(state.sync.shares, shares))
      return `its shares are due on ${id}`;
  }
  return undefined;
}

function installIsDue(
  state: InstalledState | undefined,
  data: ObjectVersion,
  meta: ObjectVersion,
  now: number,
): string | undefined {
  if (!state?.present) return 'not installed on';
  if (state.deletedStatus !== 0) return 'still deleted on';
  if (dataAreDue(state, data)) return 'its data are due on';
  if (isInstalled(state) && !metaIsCurrent(state, meta)) return 'its metadata are due on';
  const message = state.messages.data;
  const missing = message?.status === 'missing-dependency' && message.updated.getTime() <= now - DEPENDENCY_MS;
  return missing ? 'a dependency was missing on' : undefined;
}

function newest({ objects, ...folders }: StoredDataset): number {
  const { properties, documents, raw, shares } = folders;
  const times = [...Object.values(objects), ...properties, ...documents, ...raw, ...shares].map(({ modified }) =>
    modified.getTime(),
  );
  return times.reduce((latest, time) => Math.max(latest, time), 0);
}
