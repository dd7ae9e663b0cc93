// What reconciliation may do about a dataset, and what it does about the dataset's install targets once its import is complete.

import type { LaneName } from '../../engine/model/event.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import { INSTALL_KINDS, type InstallKind } from '../../engine/model/status.ts';
import type { CatalogChange, DatasetRecord, InstallRecord, ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import {
  combinedVersion,
  dataAreDue,
  isInstalled,
  metaIsCurrent,
  sharesInSync,
  sharesVersion,
  versionOf,
} from '../dataset/dataset-versions.ts';
import { linesOf } from '../dataset/site-targets.ts';
import type { RevisionFlag } from '../dataset/stored-dataset.ts';
import type { Snapshot } from './reconcile-snapshot.ts';

// The actions that the reconciliation of one dataset may take, and the plan that collects them while it decides.

export type Action =
  /** Adds everything that the store and the targets know, in one transaction. */
  | { readonly do: 'register'; readonly changes: readonly CatalogChange[] }
  /** The upload was accepted but lost before it was packed: its raw files are packed as if it had just been accepted. */
  | { readonly do: 'resumeUpload' }
  | { readonly do: 'write'; readonly changes: readonly CatalogChange[] }
  /** Adds the flag to every older revision that lacks it. */
  | { readonly do: 'flagOlder'; readonly flag: RevisionFlag }
  | { readonly do: 'remove'; readonly keys: readonly string[] }
  /** Deleted on the target, but live again: it must be installed from scratch. */
  | { readonly do: 'reopen'; readonly target: TargetId }
  | { readonly do: 'reinstall'; readonly target: TargetId; readonly message: string | undefined }
  | { readonly do: 'enqueue'; readonly lanes: readonly LaneName[] };

/** The collected actions, in the order in which they are performed. */
export interface Plan {
  readonly changes: CatalogChange[];
  readonly flags: RevisionFlag[];
  readonly removed: string[];
  readonly targets: (Action & { readonly do: 'reopen' | 'reinstall' })[];
  readonly lanes: Set<Exclude<LaneName, 'reconciliation'>>;
}

/** A full run retries installs with a missing dependency, but no more often than this. */
const DEPENDENCY_MS = 24 * 60 * 60 * 1000;

/** The versions in the store, with which the targets are compared. */
interface StoredVersions {
  readonly data: ObjectVersion;
  readonly meta: ObjectVersion;
  readonly shares: ObjectVersion;
}

export function decideTargets(snapshot: Snapshot, known: DatasetRecord, plan: Plan): void {
  const { stored, metaVersion, targets, type } = snapshot;
  const data = stored.objects['install-ready.zip'];
  // Without a plugin nothing can be installed, but what was installed before must still follow the shares.
  if (!data) return;
  const versions = {
    data: versionOf(data),
    meta: combinedVersion(metaVersion, stored.properties),
    shares: sharesVersion(stored.shares),
  };
  for (const { id, applies, state, discarded = false } of targets) {
    if (!state) continue;
    plan.changes.push(...staleMirror(known, id, state));
    if (type && applies) decideTarget(snapshot, { id, state, discarded }, versions, plan);
    if (state.present && state.deletedStatus === 0 && !sharesInSync(state.sync.shares, versions.shares))
      plan.lanes.add('sharing');
  }
}

function decideTarget(
  { fullRun, nowMs }: Snapshot,
  {
    id: target,
    state,
    discarded,
  }: { readonly id: TargetId; readonly state: ControlState; readonly discarded: boolean },
  versions: StoredVersions,
  plan: Plan,
): void {
  const { data } = state.messages;
  if (state.deletedStatus !== 0) {
    plan.lanes.add('install');
    return;
  }
  if (!state.present) plan.lanes.add('updateMeta');
  if (dataAreDue(state, versions.data)) plan.lanes.add('install');
  else if (isInstalled(state) && !metaIsCurrent(state, versions.meta)) plan.lanes.add('updateMeta');
  else if (
    !discarded &&
    fullRun &&
    data?.status === 'missing-dependency' &&
    nowMs - data.updated.getTime() >= DEPENDENCY_MS
  ) {
    plan.targets.push({ do: 'reinstall', target, message: data.message });
    plan.lanes.add('install');
  }
}

/** The dataset's data are installed on every enabled target that its plugin applies to, and there is at least one. */
export function allInstalled({ targets }: Snapshot): boolean {
  const concerned = targets.filter(({ applies }) => applies);
  return concerned.length > 0 && concerned.every(({ state }) => state !== undefined && isInstalled(state));
}

/** The mirror row for the target's message. Undefined when the target has none. */
export function mirrorOf(
  target: TargetId,
  kind: InstallKind,
  { messages }: ControlState,
): ({ readonly set: 'install' } & InstallRecord) | undefined {
  const said = messages[kind];
  if (!said) return undefined;
  return {
    set: 'install',
    target,
    kind,
    status: said.status,
    messages: linesOf(said.message === undefined ? [] : [said.message]),
  };
}

/**
 * Mirror rows that differ from the target. A target with an install in progress is left alone: the mirror's message may be
 * newer than the target's.
 */
function staleMirror(known: DatasetRecord, target: TargetId, state: ControlState): readonly CatalogChange[] {
  return INSTALL_KINDS.flatMap((kind) => {
    const truth = mirrorOf(target, kind, state);
    const copy = known.installs.find((install) => install.target === target && install.kind === kind);
    if (!truth || (copy && (truth.status === 'queued' || truth.status === 'running'))) return [];
    return copy && copy.status === truth.status && sameLines(copy.messages, truth.messages) ? [] : [truth];
  });
}

const sameLines = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((line, i) => line === b[i]);
