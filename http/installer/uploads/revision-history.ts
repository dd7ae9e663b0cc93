// What makes a dataset the next revision of another: its id, its history, and the shares that it inherits.

import type { Static } from 'typebox';
import { type DatasetId, revisionOf, rootOf, type UserId } from '../../../engine/model/ids.ts';
import { type DatasetMetadata, type Revision, serialiseShare } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey, shareKey } from '../../../engine/model/object-key.ts';
import type { DatasetRecord, StoredShare } from '../../../engine/ports/catalog.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { Datetime, VdiId } from '../dataset-terms.ts';
import type { RevisionBase } from './revise.ts';
import type { UploadSession } from './upload-session.ts';

/** The note of the first entry, which no client sends. The contract requires at least 10 characters. */
const FIRST_NOTE = 'Initial upload';

/** The history from the creation of the original on. That first entry is only stored once there is a second one. */
function wholeHistory(dataset: DatasetId, metadata: DatasetMetadata): NonNullable<DatasetMetadata['revisionHistory']> {
  const originalId = metadata.revisionHistory?.originalId ?? dataset;
  const stored = metadata.revisionHistory?.revisions ?? [];
  const first: Revision = {
    action: 'create',
    timestamp: metadata.created,
    revisionId: originalId,
    revisionNote: FIRST_NOTE,
  };
  return { originalId, revisions: stored[0]?.action === 'create' ? stored : [first, ...stored] };
}

/** @param baseUrl where the API is served, without a trailing slash */
export function revisionHistoryView(dataset: DatasetId, metadata: DatasetMetadata, baseUrl: string): RevisionHistory {
  const { originalId, revisions } = wholeHistory(dataset, metadata);
  return {
    originalId,
    revisions: revisions.map((revision) => ({
      ...revision,
      fileListUrl: `${baseUrl}/datasets/${revision.revisionId}/files`,
    })),
  };
}

/** The id with the next free number. Skips numbers that already have objects in the store. */
export async function nextRevisionId(
  { newest, highestNumber }: RevisionBase,
  store: Pick<ObjectStore, 'head'>,
  signal: AbortSignal,
): Promise<DatasetId> {
  const root = newest.metadata.revisionHistory?.originalId ?? rootOf(newest.dataset);
  for (let n = highestNumber + 1; ; n++) {
    const dataset = revisionOf(root, n);
    if (!(await isTaken(newest.owner, dataset, store, signal))) return dataset;
  }
}

/** The history of the newest revision and one entry more. */
export function nextHistory(
  newest: Pick<DatasetRecord, 'dataset' | 'metadata'>,
  revision: { readonly dataset: DatasetId; readonly note: string; readonly now: Date },
): NonNullable<DatasetMetadata['revisionHistory']> {
  const { originalId, revisions } = wholeHistory(rootOf(newest.dataset), newest.metadata);
  const { dataset: revisionId, note: revisionNote, now } = revision;
  return {
    originalId,
    revisions: [...revisions, { action: 'revise', timestamp: now.toISOString(), revisionId, revisionNote }],
  };
}

/** Asks the store, because the cache may have lost a dataset. */
async function isTaken(
  owner: UserId,
  dataset: DatasetId,
  store: Pick<ObjectStore, 'head'>,
  signal: AbortSignal,
): Promise<boolean> {
  for (const object of ['import-ready.zip', 'vdi-meta.json'] as const)
    if (await store.head(objectKey({ owner, dataset }, object), signal)) return true;
  return false;
}

const RevisionOutput = Type.Named('Revision', {
  action: Type.Enum(['create', 'extend', 'revise']),
  timestamp: Datetime,
  revisionId: VdiId,
  revisionNote: Type.String(),
  fileListUrl: Type.String(),
});

export const RevisionHistory = Type.Named('RevisionHistory', {
  originalId: VdiId,
  revisions: Type.Array(RevisionOutput, { minItems: 1 }),
});
export type RevisionHistory = Static<typeof RevisionHistory>;

export interface ShareDocument {
  readonly key: string;
  readonly bytes: Buffer;
}

/** Documents written at the same time. */
const AT_ONCE = 8;
const TELL_MS = 10_000;

/**
 * Offers and receipts of a dataset as documents of its new revision. Without them, recipients would lose access once the old
 * dataset is replaced. They are stored before the revision is accepted, so that no crash can lose them.
 */
export function shareDocuments(at: DatasetAddress, shares: readonly StoredShare[]): readonly ShareDocument[] {
  return shares.flatMap(({ recipient, offer, receipt }) => [
    ...(offer ? [{ key: shareKey(at, recipient, 'share-offer.json'), bytes: Buffer.from(serialiseShare(offer)) }] : []),
    ...(receipt
      ? [{ key: shareKey(at, recipient, 'share-receipt.json'), bytes: Buffer.from(serialiseShare(receipt)) }]
      : []),
  ]);
}

export async function keepShares(
  session: Pick<UploadSession, 'keep'>,
  documents: readonly ShareDocument[],
  signal: AbortSignal,
): Promise<void> {
  for (let i = 0; i < documents.length; i += AT_ONCE) {
    const batch = documents.slice(i, i + AT_ONCE).map(({ key, bytes }) => session.keep(key, bytes, signal));
    const failed = (await Promise.allSettled(batch)).find((put) => put.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

/**
 * Call this once the dataset is accepted. The events of its shares came before the dataset was known and may have been
 * ignored, so this writes one document again; the sharing lane then reads all of them. Never rejects: if it fails, the next
 * reconciliation finds the shares.
 */
export async function tellOfShares(
  [first]: readonly ShareDocument[],
  ports: { readonly store: Pick<ObjectStore, 'put'>; readonly clock: Clock; readonly log: Logger },
): Promise<void> {
  if (!first) return;
  using limit = deadline(ports.clock, TELL_MS, undefined, () => new Error(`not finished within ${TELL_MS} ms`));
  try {
    await ports.store.put(first.key, first.bytes, {}, limit.signal);
  } catch (err) {
    ports.log.warn({ err, key: first.key }, 'the shares of a new revision wait for the next reconciliation');
  }
}
