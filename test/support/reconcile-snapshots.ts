// Snapshots for the decision of a reconciliation: one dataset that is installed on two targets and in sync everywhere,
// but for what a case says.

import type { Test } from 'tap';
import { versionOf } from '../../actors/dataset/dataset-versions.ts';
import { decideReconciliation } from '../../actors/reconciliation/reconcile-decision.ts';
import type { Snapshot, TargetSnapshot } from '../../actors/reconciliation/reconcile-snapshot.ts';
import type { Action } from '../../actors/reconciliation/reconcile-targets.ts';
import { type DatasetObject, datasetPrefix } from '../../engine/model/object-key.ts';
import type { InstallStatus } from '../../engine/model/status.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import { metadataOf, newAddress, PLASMO, TOXO } from './dataset-samples.ts';
import { TYPES } from './lane-settings.ts';

export const at = newAddress();
export const NOW = Date.UTC(2026, 5, 1);
export const DAY = 86_400_000;
const METADATA = metadataOf(at.owner, { installTargets: [PLASMO, TOXO] });
export const MANIFEST = {
  rawUploads: [{ name: 'genes.txt', size: 14 }],
  installReady: [{ name: 'genes.tsv', size: 20 }],
};
export const FULL: readonly DatasetObject[] = [
  'vdi-meta.json',
  'vdi-manifest.json',
  'import-ready.zip',
  'install-ready.zip',
];
export const UPLOADED = FULL.slice(0, 3);

export const info = (name: string, etag = name, size = 1): ObjectInfo => ({
  key: datasetPrefix(at) + name,
  size,
  etag: etag.replaceAll(/[/.]/g, '-'),
  modified: new Date(NOW - 3 * DAY),
});
const version = (name: string) => versionOf(info(name));
export const STALE = { modified: new Date(NOW - 9 * DAY), etag: 'stale' };
export const META = version('vdi-meta.json');
export const DATA = version('install-ready.zip');
export const OFFER = info('shares/42/share-offer.json');

interface Stored {
  readonly properties?: readonly ObjectInfo[];
  readonly documents?: readonly ObjectInfo[];
  readonly raw?: readonly ObjectInfo[];
  readonly shares?: readonly ObjectInfo[];
}

export function stored(objects: readonly DatasetObject[], folders: Stored = {}): Snapshot['stored'] {
  const found = Object.fromEntries(objects.map((object) => [object, info(object)]));
  return { ...at, objects: found, properties: [], documents: [], raw: [], shares: [], unknown: 0, ...folders };
}

export const RECORD: DatasetRecord = {
  ...at,
  state: 'live',
  metadata: METADATA,
  upload: { status: 'success', message: undefined },
  import: { status: 'complete', messages: [] },
  installs: [PLASMO, TOXO].flatMap((target) =>
    (['meta', 'data'] as const).map((kind) => ({ target, kind, status: 'complete', messages: [] }) as const),
  ),
  sync: { meta: META, data: DATA },
};
export const imported = (
  status: 'queued' | 'in-progress' | 'complete' | 'invalid' | 'failed',
  ...messages: string[]
) => ({
  ...RECORD,
  installs: [],
  import: { status, messages },
});

export const ABSENT: ControlState = { present: false, type: undefined, deletedStatus: 0, messages: {}, sync: {} };

export function control(
  more: Partial<ControlState> = {},
  data: InstallStatus = 'complete',
  updated = NOW,
): ControlState {
  const message = (status: InstallStatus) => ({ status, message: undefined, updated: new Date(updated) });
  const messages = { meta: message('complete'), data: message(data) };
  return { present: true, type: METADATA.type, deletedStatus: 0, messages, sync: { meta: META, data: DATA }, ...more };
}

export const target = (id: typeof PLASMO, state: ControlState | undefined, applies = true): TargetSnapshot => ({
  id,
  applies,
  state,
});
export const both = (state: ControlState | undefined): readonly TargetSnapshot[] => [
  target(PLASMO, state),
  target(TOXO, state),
];

/** Installed on both targets and known to the cache, but for what the case says. */
function snapshot(more: Partial<Snapshot> = {}): Snapshot {
  return {
    ...at,
    nowMs: NOW,
    fullRun: false,
    stored: stored(FULL),
    metadata: METADATA,
    metaVersion: META,
    manifest: MANIFEST,
    uploadError: undefined,
    record: RECORD,
    uploadOpen: false,
    shares: [],
    type: TYPES.find(METADATA.type),
    targets: both(control()),
    hasDisabledTarget: false,
    older: [],
    ...more,
  };
}

export const decide = (more: Partial<Snapshot>): readonly Action[] => decideReconciliation(snapshot(more));
/** A test of its own: the fact that a snapshot leads to these actions. */
export function decides(t: Test, fact: string, more: Partial<Snapshot>, actions: readonly Action[]): void {
  t.test(fact, async (t) => {
    t.strictSame(decide(more), actions);
  });
}
export const enqueue = (...lanes: (Action & { do: 'enqueue' })['lanes']): Action => ({ do: 'enqueue', lanes });
export const write = (...changes: (Action & { do: 'write' })['changes']): Action => ({ do: 'write', changes });
export const flagged = (...flags: DatasetObject[]) => stored([...FULL, ...flags]);
export const UNINSTALLED = both(control({ deletedStatus: 1 }));
export const BARE = both(ABSENT);
