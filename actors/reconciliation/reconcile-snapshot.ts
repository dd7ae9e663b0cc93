// All input for the reconciliation of one dataset, read once: from the object store, the cache and each install target, and the
// flags of older revisions. Nothing here writes.

import type { DataType, DataTypes } from '../../engine/model/data-types.ts';
import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata, Manifest, UploadError } from '../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey } from '../../engine/model/object-key.ts';
import { olderRevisions } from '../../engine/model/older-revisions.ts';
import type { Catalog, DatasetRecord, ObjectVersion, StoredShare } from '../../engine/ports/catalog.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { Problems } from '../../engine/ports/problems.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import { kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { type InstallTargets, inParallel, TARGETS_AT_ONCE } from '../dataset/site-targets.ts';
import { type StoredDataset, storedDataset } from '../dataset/stored-dataset.ts';
import { readManifest, readMetadata, readShares, readUploadError } from '../dataset/stored-documents.ts';

export interface TargetSnapshot {
  readonly id: TargetId;
  /** The dataset's type is installed on this target. */
  readonly applies: boolean;
  /** Undefined when the target did not answer. */
  readonly state: ControlState | undefined;
  /** The install of the data lacks a dependency, and an operator has discarded this problem. */
  readonly discarded?: boolean;
}

/** An older revision that has metadata. */
export interface OlderRevision {
  readonly dataset: DatasetId;
  readonly deleteFlag: boolean;
  readonly revisedFlag: boolean;
}

export interface Snapshot extends DatasetAddress {
  readonly nowMs: number;
  /** Requested by a full run of the reconciler, which may retry what waits for a person. */
  readonly fullRun: boolean;
  readonly stored: StoredDataset;
  readonly metadata: DatasetMetadata;
  readonly metaVersion: ObjectVersion;
  /** `malformed`: it exists but cannot be parsed. */
  readonly manifest: Manifest | 'malformed' | undefined;
  readonly uploadError: UploadError | undefined;
  readonly record: DatasetRecord | undefined;
  /** The upload was accepted and is not packed yet, or its raw files are still to be removed. */
  readonly uploadOpen: boolean;
  /** Read only for a dataset that the cache does not know. */
  readonly shares: readonly StoredShare[];
  /** Undefined when no plugin is registered for the dataset's type. */
  readonly type: DataType | undefined;
  /** Enabled targets of the metadata, in their order. */
  readonly targets: readonly TargetSnapshot[];
  /** The metadata name a target that is disabled or unknown. */
  readonly hasDisabledTarget: boolean;
  /** Newest first. */
  readonly older: readonly OlderRevision[];
}

/** A dataset that is not reconciled: it is being received, or has no objects, or no readable metadata. It is never changed. */
interface Unjudged {
  readonly why: 'receiving' | 'absent' | 'no metadata' | 'malformed metadata';
  readonly reason?: string;
}

interface Reading {
  readonly snapshot: Snapshot;
  /** Errors of targets that did not answer. */
  readonly failures: readonly unknown[];
}

export interface SnapshotPorts {
  readonly catalog: Catalog;
  readonly uploads: Uploads;
  /** Undefined = nothing is ever discarded. */
  readonly problems?: Pick<Problems, 'discards'> | undefined;
  readonly store: ObjectStore;
  readonly targets: InstallTargets;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function readSnapshot(
  ports: SnapshotPorts,
  types: DataTypes,
  job: ClaimedJob,
  signal: AbortSignal,
): Promise<Reading | Unjudged> {
  const { catalog, uploads, store } = ports;
  const at: DatasetAddress = { owner: job.owner, dataset: job.dataset };
  const record = await catalog.find(job.dataset, signal);
  if (!record && (await catalog.isReceiving(job.dataset, signal))) return { why: 'receiving' };
  const stored = await storedDataset(store, at, signal);
  if (!stored) return { why: 'absent' };
  const read = await unlessMalformed(() => readMetadata(store, at, signal));
  if (!read) return { why: 'no metadata' };
  if ('malformed' in read) return { why: 'malformed metadata', reason: read.malformed };
  const metadata = read.document;

  const leavings = await readLeavings(store, at, signal);
  const type = types.find(metadata.type);
  const failures: unknown[] = [];
  const targets = await readTargets(ports, types, type, metadata, job, failures, signal);
  const onMalformed = (why: unknown): void =>
    ports.log.warn(
      { lane: job.lane, dataset: job.dataset, err: messageOf(why) },
      'a malformed share document was skipped',
    );
  const snapshot: Snapshot = {
    ...at,
    nowMs: ports.clock.now(),
    fullRun: job.source === 'full-reconciler',
    stored,
    metadata,
    metaVersion: read.version,
    ...leavings,
    record,
    uploadOpen: (await uploads.source(job.dataset, signal)) !== undefined,
    shares: record ? [] : await readShares(store, stored.shares, onMalformed, signal),
    type,
    targets,
    hasDisabledTarget: metadata.installTargets.some((id) => !ports.targets.has(id)),
    older: await readOlder(store, at, metadata, signal),
  };
  return { snapshot, failures };
}

/** The documents that upload and import leave besides their archives. */
export async function readLeavings(
  store: ObjectStore,
  at: DatasetAddress,
  signal: AbortSignal,
): Promise<Pick<Snapshot, 'manifest' | 'uploadError'>> {
  const manifest = await unlessMalformed(() => readManifest(store, at, signal));
  const error = await unlessMalformed(() => readUploadError(store, at, signal));
  return {
    manifest: manifest && ('malformed' in manifest ? 'malformed' : manifest.document),
    uploadError: error && ('malformed' in error ? { status: 'failed', message: error.malformed } : error.document),
  };
}

async function readTargets(
  ports: SnapshotPorts,
  types: DataTypes,
  type: DataType | undefined,
  metadata: DatasetMetadata,
  job: ClaimedJob,
  failures: unknown[],
  signal: AbortSignal,
): Promise<readonly TargetSnapshot[]> {
  const enabled = metadata.installTargets.flatMap((id) => ports.targets.get(id) ?? []);
  return inParallel(enabled, TARGETS_AT_ONCE, async (target) => {
    const applies = type !== undefined && types.appliesTo(type, target.id);
    try {
      const state = await target.state(job.dataset, signal);
      return { id: target.id, applies, state, ...(await discardedIn(ports, state, target.id, job, signal)) };
    } catch (error) {
      if (kindOf(error) === 'aborted' || signal.aborted) throw error;
      failures.push(error);
      return { id: target.id, applies, state: undefined };
    }
  });
}

/** Queries only where the decision depends on it, because there may be a million datasets. */
async function discardedIn(
  { problems }: SnapshotPorts,
  { messages }: ControlState,
  target: TargetId,
  { dataset, source }: ClaimedJob,
  signal: AbortSignal,
): Promise<Pick<TargetSnapshot, 'discarded'>> {
  if (!problems || source !== 'full-reconciler' || messages.data?.status !== 'missing-dependency') return {};
  const discards = await problems.discards(dataset, signal);
  return { discarded: discards.some((one) => one.lane === 'install' && one.target === target) };
}

async function readOlder(
  store: ObjectStore,
  { owner, dataset }: DatasetAddress,
  metadata: DatasetMetadata,
  signal: AbortSignal,
): Promise<readonly OlderRevision[]> {
  const older: OlderRevision[] = [];
  for (const revision of olderRevisions(metadata, dataset)) {
    const has = async (object: 'vdi-meta.json' | 'delete-flag' | 'revised-flag'): Promise<boolean> =>
      (await store.head(objectKey({ owner, dataset: revision }, object), signal)) !== undefined;
    if (!(await has('vdi-meta.json'))) continue;
    older.push({ dataset: revision, deleteFlag: await has('delete-flag'), revisedFlag: await has('revised-flag') });
  }
  return older;
}

/** Turns the failure of a document that cannot be parsed into a result with its message. */
async function unlessMalformed<Document extends object>(
  read: () => Promise<Document | undefined>,
): Promise<Document | { readonly malformed: string } | undefined> {
  try {
    return await read();
  } catch (error) {
    if (kindOf(error) !== 'rejected') throw error;
    return { malformed: messageOf(error) };
  }
}
