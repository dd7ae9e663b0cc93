// The shares of a dataset go over to its new revision: those who saw the old one would lose sight of it otherwise, once
// it is replaced. The documents are put before the revision is accepted, so that no crash can lose them.

import { type DatasetAddress, shareKey } from '../../../engine/model/object-key.ts';
import { serialiseShare } from '../../../engine/model/share.ts';
import type { ShareWords } from '../../../engine/ports/catalog.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import type { UploadSession } from '../uploads/upload-session.ts';

export interface ShareDocument {
  readonly key: string;
  readonly bytes: Buffer;
}

/** Documents put at once. */
const AT_ONCE = 8;
const TELL_MS = 10_000;

/** What owner and recipients said, as documents of another dataset. */
export function shareDocuments(at: DatasetAddress, shares: readonly ShareWords[]): readonly ShareDocument[] {
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
 * To be called once the dataset is accepted. The events of its shares came before it was known, and may have been passed
 * over: one document put again has the sharing lane read them all. Never rejects; a reconciliation finds out too.
 */
export async function tellOfShares(
  [first]: readonly ShareDocument[],
  ports: { readonly store: Pick<ObjectStore, 'put'>; readonly clock: Clock; readonly log: Logger },
): Promise<void> {
  if (!first) return;
  using limit = deadline(ports.clock, TELL_MS, undefined, () => new Error(`gave up after ${TELL_MS} ms`));
  try {
    await ports.store.put(first.key, first.bytes, {}, limit.signal);
  } catch (err) {
    ports.log.warn({ err, key: first.key }, 'the shares of a new revision wait for the next reconciliation');
  }
}
