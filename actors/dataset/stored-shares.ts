// The share offers and receipts of a dataset, read from the two documents per recipient in the object store. Others may have
// written them: a document that we cannot parse counts as absent and does not affect the others.

import type { UserId } from '../../engine/model/ids.ts';
import { parseOffer, parseReceipt } from '../../engine/model/metadata.ts';
import { type DatasetAddress, datasetPrefix, parseKey } from '../../engine/model/object-key.ts';
import type { StoredShare } from '../../engine/ports/catalog.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import { kindOf } from '../../engine/runtime/failure.ts';
import { inParallel } from './site-targets.ts';
import { readText } from './stored-documents.ts';

/** Longshore writes no share document larger than this. */
const MAX_BYTES = 64 * 1024;
const READS_AT_ONCE = 8;

/** The dataset's share documents, in key order: at most two per recipient. */
export async function storedShares(
  store: ObjectStore,
  at: DatasetAddress,
  signal: AbortSignal,
): Promise<readonly ObjectInfo[]> {
  const found: ObjectInfo[] = [];
  for await (const info of store.list(`${datasetPrefix(at)}shares/`, {}, signal))
    if (shareOf(info.key)) found.push(info);
  return found;
}

/**
 * The contents of the documents, by recipient. The owner is skipped: nobody shares with themselves.
 * @param onMalformed called for a document that cannot be parsed, with the `rejected` failure that says why
 */
export async function readShares(
  store: ObjectStore,
  documents: readonly ObjectInfo[],
  onMalformed: (key: string, why: unknown) => void,
  signal: AbortSignal,
): Promise<readonly StoredShare[]> {
  const said = await inParallel(documents, READS_AT_ONCE, ({ key }) => readWord(store, key, onMalformed, signal));
  const shares = new Map<UserId, StoredShare>();
  for (const words of said) if (words) shares.set(words.recipient, { ...shares.get(words.recipient), ...words });
  return [...shares.values()];
}

/**
 * Who may see the dataset besides its owner. An offer without a receipt is pending, and a receipt without an offer has no
 * effect.
 */
export const recipientsOf = (shares: readonly StoredShare[]): readonly UserId[] =>
  shares.flatMap(({ recipient, offer, receipt }) => (offer === 'grant' && receipt === 'accept' ? [recipient] : []));

function shareOf(key: string) {
  const parsed = parseKey(key);
  return parsed !== 'foreign' && parsed?.kind === 'share' ? parsed : undefined;
}

async function readWord(
  store: ObjectStore,
  key: string,
  onMalformed: (key: string, why: unknown) => void,
  signal: AbortSignal,
): Promise<StoredShare | undefined> {
  const share = shareOf(key);
  if (!share || share.recipient === share.owner) return undefined;
  const { recipient, object } = share;
  try {
    const stored = await readText(store, key, MAX_BYTES, signal);
    // Removed after it was listed; the removal has its own event.
    if (!stored) return undefined;
    if (object === 'share-offer.json') return { recipient, offer: parseOffer(stored.text, key) };
    return { recipient, receipt: parseReceipt(stored.text, key) };
  } catch (error) {
    if (kindOf(error) !== 'rejected') throw error;
    onMalformed(key, error);
    return undefined;
  }
}
