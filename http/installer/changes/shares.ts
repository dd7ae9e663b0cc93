// PUT /datasets/{id}/shares/{recipient}/offer and .../receipt: the owner offers a dataset to another user, who accepts
// or rejects. Each word is a document in the object store and a row of the cache; the sharing lane tells the targets.

import { parseUserId, type UserId } from '../../../engine/model/ids.ts';
import { type ShareObject, shareKey } from '../../../engine/model/object-key.ts';
import { type OfferAction, type ReceiptAction, serialiseShare } from '../../../engine/model/share.ts';
import { isDeleted } from '../../../engine/model/status.ts';
import type { ShareWords } from '../../../engine/ports/catalog.ts';
import type { DecidedEdit, EditableDataset } from '../../../engine/ports/dataset-edits.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { soundJsonBody } from '../../kernel/bodies/body.ts';
import { UserIdOutput } from '../../kernel/openapi/user-id.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { badRequest, forbidden, notFound } from '../../kernel/pipeline/errors.ts';
import { refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { sightOf } from '../details/access.ts';
import { datasetParam } from '../schema/dataset-param.ts';
import { OfferInput, ReceiptInput } from '../schema/share.ts';
import { demandLasting } from './demand-newest.ts';
import { editDataset, type OwnerEditOptions, ownerEdit, shareRecords } from './owner-edit.ts';

export interface SharesOptions extends OwnerEditOptions {
  readonly store: Pick<ObjectStore, 'put'>;
  /** An offer counts as accepted as long as the recipient has not answered. */
  readonly autoAcceptShares: boolean;
}

const MAX_BODY_BYTES = 1024;

export function shareRoutes(options: SharesOptions): readonly Route[] {
  const readOffer = soundJsonBody(OfferInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  const readReceipt = soundJsonBody(ReceiptInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  const common = {
    method: 'PUT',
    access: 'user-or-admin',
    params: { ...datasetParam, recipient: { description: 'The other user', schema: { ...UserIdOutput } } },
  } as const;
  const refused = {
    400: 'The recipient is no user, or the owner; or the body is no JSON or too large',
    404: 'No such dataset',
    415: 'The body is no JSON',
    422: 'The action is unknown',
  };
  return [
    {
      ...common,
      path: '/datasets/:id/shares/:recipient/offer',
      operationId: 'putShareOffer',
      summary: 'Offers a dataset to a user, or takes the offer back',
      body: { description: 'grant or revoke', content: { 'application/json': { ...OfferInput } } },
      responses: {
        204: { description: 'Said' },
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
        204: { description: 'Said' },
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
    // What a revision brought along can be taken back at once.
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
    const absent = notFound(`there is no dataset '${dataset}'`);
    if (!now || isDeleted(now.state)) throw absent;
    const before = wordsOf(now, recipient);
    if (context.caller.kind !== 'admin' && context.userId !== recipient) {
      const sees = sightOf({ ...now, shares: shareRecords(now) }, context.userId) === 'visible';
      throw sees ? forbidden(`only user ${recipient} answers an offer to user ${recipient}`) : absent;
    }
    if (before.offer === undefined) {
      // To somebody who was never offered a private dataset it does not exist.
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

const wordsOf = ({ shares }: EditableDataset, recipient: UserId): ShareWords =>
  shares.find((share) => share.recipient === recipient) ?? { recipient };

function edited({ shares }: EditableDataset, words: ShareWords): DecidedEdit<void> {
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
