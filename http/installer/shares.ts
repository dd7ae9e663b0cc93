// Shares (docs/contract/installer.md#share-offers). PUT /datasets/{id}/shares/{recipient}/offer: the owner offers a dataset
// to another user; PUT .../receipt: that user accepts or rejects. Offer and receipt are documents in the object store, with
// a copy in the cache; the sharing lane carries them to the install targets. GET /users/self/share-offers: what others offer
// to the caller, and what the caller answered.

import type { Static } from 'typebox';
import type { DataTypes } from '../../engine/model/data-types.ts';
import { parseUserId, type UserId } from '../../engine/model/ids.ts';
import {
  OFFER_ACTIONS,
  type OfferAction,
  RECEIPT_ACTIONS,
  type ReceiptAction,
  serialiseShare,
} from '../../engine/model/metadata.ts';
import { type ShareObject, shareKey } from '../../engine/model/object-key.ts';
import { isDeleted } from '../../engine/model/status.ts';
import type { Accounts } from '../../engine/ports/access-people.ts';
import type { StoredShare } from '../../engine/ports/catalog.ts';
import type { DecidedEdit, EditableDataset } from '../../engine/ports/dataset-edits.ts';
import {
  type DatasetQueries,
  type OfferedDataset,
  type OfferFilter,
  SHARE_STATUSES,
} from '../../engine/ports/dataset-queries.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { flattened, type Items, mapped } from '../../engine/runtime/items.ts';
import { checkedJsonBody } from '../kernel/bodies/body.ts';
import { Type, UserIdOutput } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { badRequest, forbidden } from '../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { noDataset, sightOf } from './access.ts';
import { demandLasting, editDataset, type OwnerEditOptions, ownerEdit, shareRecords } from './dataset-edit.ts';
import { DatasetTypeOutput, datasetParam, InstallTargetIds, typeView, VdiId } from './dataset-terms.ts';
import { CLOSED } from './metadata/create-details.ts';
import { inBatches, paging, pagingOf } from './paging.ts';
import { findProfiles, Owner, ownerView } from './people.ts';

const OfferInput = Type.Named('OfferInput', { action: Type.Enum([...OFFER_ACTIONS]) }, CLOSED);
const ReceiptInput = Type.Named('ReceiptInput', { action: Type.Enum([...RECEIPT_ACTIONS]) }, CLOSED);

const ShareOffer = Type.Named('ShareOffer', {
  datasetId: VdiId,
  owner: Owner,
  shareStatus: Type.Enum([...SHARE_STATUSES]),
  type: DatasetTypeOutput,
  installTargets: InstallTargetIds,
});
type ShareOffer = Static<typeof ShareOffer>;

const ShareOffers = Type.Array(ShareOffer);

interface SharesOptions extends OwnerEditOptions {
  readonly store: Pick<ObjectStore, 'put'>;
  /** An offer counts as accepted until the recipient answers. */
  readonly autoAcceptShares: boolean;
}

const MAX_BODY_BYTES = 1024;

export function shareRoutes(options: SharesOptions): readonly Route[] {
  const readOffer = checkedJsonBody(OfferInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  const readReceipt = checkedJsonBody(ReceiptInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  const common = {
    method: 'PUT',
    access: 'user-or-admin',
    params: { ...datasetParam, recipient: { description: 'The other user', schema: { ...UserIdOutput } } },
  } as const;
  const refused = {
    400: 'The recipient is not a user, or the owner; or the body is not JSON or too large',
    404: 'No such dataset',
    415: 'The body is not JSON',
    422: 'The action is unknown',
  };
  return [
    {
      ...common,
      path: '/datasets/:id/shares/:recipient/offer',
      operationId: 'putShareOffer',
      summary: 'Shares a dataset with a user, or revokes the share',
      body: { description: 'grant or revoke', content: { 'application/json': { ...OfferInput } } },
      responses: {
        204: { description: 'Recorded' },
        ...refusals({
          ...refused,
          403: 'Not the owner, or the dataset is deleted or not imported, or a newer revision replaces it',
        }),
      },
      handler: async (context) => putOffer(options, context, (await readOffer(context.request)).action),
    },
    {
      ...common,
      path: '/datasets/:id/shares/:recipient/receipt',
      operationId: 'putShareReceipt',
      summary: 'Accepts or rejects an offer',
      body: { description: 'accept or reject', content: { 'application/json': { ...ReceiptInput } } },
      responses: {
        204: { description: 'Recorded' },
        ...refusals({
          ...refused,
          403: 'Not the recipient, or there is no offer that stands, or a newer revision replaces the dataset',
        }),
      },
      handler: async (context) => putReceipt(options, context, (await readReceipt(context.request)).action),
    },
  ];
}

async function putOffer(options: SharesOptions, context: RequestContext, action: OfferAction): Promise<void> {
  const recipient = recipientOf(context);
  await ownerEdit(options, context, 404, async (now, signal) => {
    if (recipient === now.owner) throw badRequest(`dataset ${now.dataset} is user ${recipient}'s own`);
    const before = wordsOf(now, recipient);
    demandLasting(now);
    // An offer that a revision inherited can be taken back before the revision is imported.
    if (action === 'grant' || before.offer !== 'grant') demandImported(now);
    await put(options, now, recipient, 'share-offer.json', action, signal);
    const unanswered = action === 'grant' && before.receipt === undefined && options.autoAcceptShares;
    if (unanswered) await put(options, now, recipient, 'share-receipt.json', 'accept', signal);
    return edited(now, { ...before, offer: action, ...(unanswered ? { receipt: 'accept' } : {}) });
  });
  context.log.info({ dataset: context.param('id'), recipient, action }, 'share offer');
  context.empty(204);
}

async function putReceipt(options: SharesOptions, context: RequestContext, action: ReceiptAction): Promise<void> {
  const recipient = recipientOf(context);
  await editDataset(options, context, async (now, dataset, signal) => {
    const absent = noDataset(dataset);
    if (!now || isDeleted(now.state)) throw absent;
    const before = wordsOf(now, recipient);
    if (context.caller.kind !== 'admin' && context.userId !== recipient) {
      const sees = sightOf({ ...now, shares: shareRecords(now) }, context.userId) === 'visible';
      throw sees ? forbidden(`only user ${recipient} answers an offer to user ${recipient}`) : absent;
    }
    if (before.offer === undefined) {
      // Whoever was never offered a private dataset must not learn that it exists.
      throw now.metadata.visibility === 'private' && now.owner !== recipient
        ? absent
        : forbidden(`dataset ${dataset} was not offered to user ${recipient}`);
    }
    if (before.offer === 'revoke' && action === 'accept')
      throw forbidden(`the offer of dataset ${dataset} to user ${recipient} was taken back`);
    demandLasting(now);
    if (action === 'accept') demandImported(now);
    await put(options, now, recipient, 'share-receipt.json', action, signal);
    return edited(now, { ...before, receipt: action });
  });
  context.log.info({ dataset: context.param('id'), recipient, action }, 'share receipt');
  context.empty(204);
}

function recipientOf(context: RequestContext): UserId {
  const text = context.param('recipient');
  const recipient = parseUserId(text);
  if (!recipient) throw badRequest(`recipient '${text.slice(0, 64)}' is no user id: a positive integer is`);
  return recipient;
}

function demandImported({ dataset, import: imported }: EditableDataset): void {
  switch (imported?.status) {
    case 'complete':
      return;
    case 'invalid':
    case 'failed':
      throw forbidden(`dataset ${dataset} cannot be shared: its import failed`);
    default:
      throw forbidden(`dataset ${dataset} cannot be shared yet: it is not imported`);
  }
}

const wordsOf = ({ shares }: EditableDataset, recipient: UserId): StoredShare =>
  shares.find((share) => share.recipient === recipient) ?? { recipient };

function edited({ shares }: EditableDataset, words: StoredShare): DecidedEdit<void> {
  const others = shares.filter((share) => share.recipient !== words.recipient);
  return { changes: [{ set: 'shares', shares: [...others, words] }], result: undefined };
}

async function put(
  { store }: SharesOptions,
  at: EditableDataset,
  recipient: UserId,
  object: ShareObject,
  action: OfferAction | ReceiptAction,
  signal: AbortSignal,
): Promise<void> {
  await store.put(shareKey(at, recipient, object), Buffer.from(serialiseShare(action)), {}, signal);
}

interface ShareOffersOptions {
  readonly queries: Pick<DatasetQueries, 'offers'>;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly dataTypes: DataTypes;
}

const WORDS = [...SHARE_STATUSES, 'all'] as const;
/** Clients send either case (docs/contract/installer.md#endpoints). */
const ANY_CASE = WORDS.map((word) => [...word].map((letter) => `[${letter}${letter.toUpperCase()}]`).join(''));

export function shareOffersRoute(options: ShareOffersOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/users/self/share-offers',
    access: 'user',
    operationId: 'listShareOffers',
    summary: 'Lists datasets that others have offered to the caller',
    query: {
      status: {
        description: `Only offers with this answer: ${WORDS.join(', ')}; case does not matter`,
        schema: { type: 'string', pattern: `^(${ANY_CASE.join('|')})$`, default: 'open' },
      },
      ...paging,
    },
    responses: {
      200: answer('Offers that stand, newest dataset first', ShareOffers),
      304: { description: 'Not modified: the caller has the current version' },
      ...refusals({ 400: 'A query parameter is invalid', 403: 'Guests have no offers' }),
    },
    handler: (context) => context.jsonList(offers(options, filterOf(context), context.signal)),
  };
}

function filterOf({ query, userId }: RequestContext): OfferFilter {
  const asked = String(query.status ?? 'open').toLowerCase();
  return { recipient: userId, status: WORDS.find((word) => word === asked) ?? 'open', ...pagingOf(query) };
}

function offers(
  { queries, accounts, dataTypes }: ShareOffersOptions,
  filter: OfferFilter,
  signal: AbortSignal,
): Items<ShareOffer> {
  const items = mapped(inBatches(queries.offers(filter, signal)), async (batch) => {
    const owners = batch.map(({ owner }) => owner);
    const profiles = await findProfiles(accounts, owners, signal);
    return batch.map(({ dataset, owner, status, metadata }: OfferedDataset) => ({
      datasetId: dataset,
      owner: ownerView(owner, profiles),
      shareStatus: status,
      type: typeView(metadata.type, dataTypes),
      installTargets: [...metadata.installTargets],
    }));
  });
  return flattened(items);
}
