// The two documents of a share in the object store: the owner's offer and the recipient's receipt.

import { Failure } from '../runtime/failure.ts';
import { parseJson, stringifyJson } from './json.ts';

export const OFFER_ACTIONS = ['grant', 'revoke'] as const;
export type OfferAction = (typeof OFFER_ACTIONS)[number];

export const RECEIPT_ACTIONS = ['accept', 'reject'] as const;
export type ReceiptAction = (typeof RECEIPT_ACTIONS)[number];

export const serialiseShare = (action: OfferAction | ReceiptAction): string => stringifyJson({ action });

/** A document that contains neither is a `rejected` failure that names it. */
export const parseOffer = (text: string, where: string): OfferAction => parseAction(text, where, OFFER_ACTIONS);
export const parseReceipt = (text: string, where: string): ReceiptAction => parseAction(text, where, RECEIPT_ACTIONS);

function parseAction<Action extends string>(text: string, where: string, allowed: readonly Action[]): Action {
  let action: unknown;
  try {
    action = (parseJson(text) as { action?: unknown } | null)?.action;
  } catch (cause) {
    throw new Failure('rejected', `${where}: not JSON`, { cause });
  }
  const known = allowed.find((word) => word === action);
  if (!known) throw new Failure('rejected', `${where}: 'action' must be one of ${allowed.join(', ')}`);
  return known;
}
