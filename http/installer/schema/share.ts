// Shares: the bodies of offer and receipt, and the listing of offers (docs/contract/installer.md#share-offers).

import type { Static } from 'typebox';
import { OFFER_ACTIONS, RECEIPT_ACTIONS } from '../../../engine/model/share.ts';
import { SHARE_STATUSES } from '../../../engine/ports/dataset-queries.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { DatasetTypeOutput, InstallTargetIds, VdiId } from './dataset-terms.ts';
import { CLOSED } from './details.ts';
import { Owner } from './people.ts';

export const OfferInput = Type.Object({ action: Type.Enum([...OFFER_ACTIONS]) }, CLOSED);
export type OfferInput = Static<typeof OfferInput>;

export const ReceiptInput = Type.Object({ action: Type.Enum([...RECEIPT_ACTIONS]) }, CLOSED);
export type ReceiptInput = Static<typeof ReceiptInput>;

export const ShareOffer = Type.Object({
  datasetId: VdiId,
  owner: Owner,
  shareStatus: Type.Enum([...SHARE_STATUSES]),
  type: DatasetTypeOutput,
  installTargets: InstallTargetIds,
});
export type ShareOffer = Static<typeof ShareOffer>;

export const ShareOffers = Type.Array(ShareOffer);
