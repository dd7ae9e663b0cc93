// What reconciliation does about one dataset's install targets once its import is complete. Each target that answers is decided
// independently. Its control DB is authoritative, and the cache mirrors it. Pure.

import type { TargetId } from '../../engine/model/ids.ts';
import { INSTALL_KINDS, type InstallKind } from '../../engine/model/status.ts';
import type { CatalogChange, DatasetRecord, InstallRecord, ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import { combinedVersion, sharesInSync, sharesVersion, versionOf } from '../dataset/dataset-versions.ts';
import { dataAreDue, isInstalled, metaIsCurrent } from '../dataset/site-state.ts';
import { linesOf } from '../dataset/site-targets.ts';
import type { Plan } from './reconcile-plan.ts';
import type { Snapshot } from './reconcile-snapshot.ts';

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
  for (const { id, applies, state } of targets) {
    if (!state) continue;
    plan.changes.push(...staleMirror(known, id, state));
    if (type && applies) decideTarget(snapshot, id, state, versions, plan);
    if (state.present && state.deletedStatus === 0 && !sharesInSync(state.sync.shares, versions.shares))
      plan.lanes.add('sharing');
  }
}

function decideTarget(
  { fullRun, nowMs }: Snapshot,
  target: TargetId,
  state: ControlState,
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
  else if (fullRun && data?.status === 'missing-dependency' && nowMs - data.updated.getTime() >= DEPENDENCY_MS) {
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
