// Decides what the reconciliation of one dataset does, as a pure function. The object store is authoritative for which datasets
// exist and what they contain, and each install target for what is installed there. The cache is updated to match.
//
//   not in the cache     registered in its state, then as below
//   delete-flag          deleting, uninstalled; its older revisions get the flag too
//   revised-flag alone   superseded, uninstalled
//   neither              live: uploaded, imported, installed, shown and shared as the store says
//
// The decision is idempotent: after the actions and the jobs that they enqueue have ended, it gives no action. Work in progress
// is left alone: pending jobs of other lanes run before this one, and a final failure waits for a person.

import { objectKey } from '../../engine/model/object-key.ts';
import { type DatasetState, type ImportStatus, isDeleted } from '../../engine/model/status.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import { isUninstalled, sameVersion, sharesInSync, sharesVersion, versionOf } from '../dataset/dataset-versions.ts';
import { archiveChange } from '../dataset/stored-documents.ts';
import { importFacts, LOST_IMPORT, LOST_UPLOAD, recordOf, registration } from './reconcile-registration.ts';
import type { Snapshot } from './reconcile-snapshot.ts';
import { type Action, allInstalled, decideTargets, type Plan } from './reconcile-targets.ts';

export function decideReconciliation(snapshot: Snapshot): readonly Action[] {
  const { record, stored } = snapshot;
  if (!record && isForgottenUpload(snapshot)) return [{ do: 'resumeUpload' }];
  const changes = record ? [] : registration(snapshot);
  const known = record ?? recordOf(snapshot, changes);
  if (known.state === 'pruning' || known.state === 'receiving') return [];
  const plan: Plan = { changes: [], flags: [], removed: [], targets: [], lanes: new Set() };
  const state = stateOf(snapshot, known);
  if (state !== known.state) plan.changes.push({ set: 'state', state, from: known.state });
  if (stored.objects['delete-flag']) decideDeleted(snapshot, known, plan);
  else if (stored.objects['revised-flag']) decideSuperseded(snapshot, known, plan);
  else decideLive(snapshot, known, plan);
  return [...(record ? [] : [{ do: 'register', changes } as const]), ...actionsOf(plan)];
}

/** Metadata and raw files exist, but no object that shows an outcome of the upload. */
function isForgottenUpload({ stored: { objects, raw } }: Snapshot): boolean {
  const told = (
    ['import-ready.zip', 'install-ready.zip', 'upload-error.json', 'delete-flag', 'revised-flag'] as const
  ).some((object) => objects[object]);
  return raw.length > 0 && !told;
}

function stateOf({ stored: { objects } }: Snapshot, known: DatasetRecord): DatasetState {
  if (objects['delete-flag']) return isDeleted(known.state) ? known.state : 'deleting';
  return objects['revised-flag'] ? 'superseded' : 'live';
}

/** The softDelete lane uninstalls, and sets the state to `deleted`. */
function decideDeleted(snapshot: Snapshot, known: DatasetRecord, plan: Plan): void {
  // A disabled target keeps the dataset `deleting`: whether it is uninstalled there is unknown.
  const over = known.state === 'deleted' || (known.state === 'deleting' && snapshot.hasDisabledTarget);
  if (!over || !isUninstalledEverywhere(snapshot)) plan.lanes.add('softDelete');
  if (!snapshot.stored.objects['revised-flag'] && snapshot.older.some((older) => !older.deleteFlag))
    plan.flags.push('delete-flag');
}

function decideSuperseded(snapshot: Snapshot, known: DatasetRecord, plan: Plan): void {
  if (!isUninstalledEverywhere(snapshot)) plan.lanes.add('softDelete');
  if (!sharesInSync(known.sync.shares, sharesVersion(snapshot.stored.shares))) plan.lanes.add('sharing');
}

/** Judged by the targets that answer. */
const isUninstalledEverywhere = ({ targets }: Snapshot): boolean =>
  targets.every(({ state }) => state === undefined || isUninstalled(state));

function decideLive(snapshot: Snapshot, known: DatasetRecord, plan: Plan): void {
  const { stored, metaVersion, older, owner } = snapshot;
  // Before the deletion of an older revision is undone, so that the revision does not look live in between.
  if (allInstalled(snapshot) && older.some(({ revisedFlag }) => !revisedFlag)) plan.flags.push('revised-flag');
  for (const { dataset, deleteFlag } of older)
    if (deleteFlag) plan.removed.push(objectKey({ owner, dataset }, 'delete-flag'));
  if (!sameVersion(known.sync.meta, metaVersion)) plan.lanes.add('updateMeta');
  if (!sharesInSync(known.sync.shares, sharesVersion(stored.shares))) plan.lanes.add('sharing');
  // Before an import as well: an install skips a target where the dataset is deleted.
  for (const { id, applies, state } of snapshot.targets)
    if (applies && state && state.deletedStatus !== 0) plan.targets.push({ do: 'reopen', target: id });
  if (!decideUpload(snapshot, known, plan)) return;
  if (decideImport(snapshot, known, plan)) decideTargets(snapshot, known, plan);
}

/** True when the upload has succeeded. */
function decideUpload(snapshot: Snapshot, known: DatasetRecord, plan: Plan): boolean {
  const { stored, manifest, uploadError, uploadOpen } = snapshot;
  const { objects, raw } = stored;
  if (objects['import-ready.zip'] || objects['install-ready.zip']) {
    if (known.upload.status !== 'success') {
      plan.changes.push({ set: 'upload', status: 'success' });
      if (typeof manifest === 'object')
        plan.changes.push(
          { set: 'uploadFiles', files: manifest.rawUploads },
          ...archiveChange(snapshot, 'import-ready.zip', manifest.archives, Object.values(objects)),
        );
    }
    if (objects['upload-error.json']) plan.removed.push(objects['upload-error.json'].key);
    // As long as the upload lane knows the upload, it removes the raw files itself and updates the quota.
    if (uploadOpen) plan.lanes.add('upload');
    else plan.removed.push(...raw.map(({ key }) => key));
    return true;
  }
  if (known.upload.status !== 'running') return false;
  if (uploadOpen) plan.lanes.add('upload');
  else plan.changes.push({ set: 'upload', ...(uploadError ?? LOST_UPLOAD) });
  return false;
}

/** True when the import is complete, or becomes complete with this plan. */
function decideImport(snapshot: Snapshot, known: DatasetRecord, plan: Plan): boolean {
  const { need, ready } = importFacts(snapshot, known.import);
  const { manifest } = snapshot;
  const status = known.import?.status;
  const data = snapshot.stored.objects['install-ready.zip'];
  if (need === 'needed') {
    if (status !== 'queued') plan.changes.push({ set: 'import', status: 'queued', messages: [] });
    plan.lanes.add('import');
    return false;
  }
  if (status === 'invalid' || status === 'failed') return false;
  if (snapshot.record && wasCutOff(snapshot, status)) {
    plan.lanes.add('import');
    return false;
  }
  if (!data || !ready) {
    if (need === 'impossible' && status !== 'complete') plan.changes.push({ set: 'import', ...LOST_IMPORT });
    return false;
  }
  if (status !== 'complete') plan.changes.push({ set: 'import', status: 'complete', messages: [] });
  if (status !== 'complete' || !sameVersion(known.sync.data, data)) {
    plan.changes.push({ set: 'sync', part: 'data', version: versionOf(data) });
    if (typeof manifest === 'object')
      plan.changes.push(
        { set: 'installFiles', files: manifest.installReady },
        ...archiveChange(snapshot, 'install-ready.zip', manifest.archives, [data]),
      );
  }
  return true;
}

/** All objects may exist, but the plugin's result is not known, so the import lane runs again. */
function wasCutOff({ stored, type }: Snapshot, status: ImportStatus | undefined): boolean {
  const open = status === 'queued' || status === 'in-progress';
  return open && type !== undefined && stored.objects['import-ready.zip'] !== undefined;
}

/** Jobs are enqueued last: if an earlier action fails, the decision is made again and no request is lost. */
function actionsOf({ changes, flags, removed, targets, lanes }: Plan): readonly Action[] {
  return [
    ...(changes.length > 0 ? [{ do: 'write', changes } as const] : []),
    ...flags.map((flag) => ({ do: 'flagOlder', flag }) as const),
    ...(removed.length > 0 ? [{ do: 'remove', keys: removed } as const] : []),
    ...targets,
    ...(lanes.size > 0 ? [{ do: 'enqueue', lanes: [...lanes] } as const] : []),
  ];
}
