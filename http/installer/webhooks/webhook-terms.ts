// The documents of webhooks: what callers send and see, and the checks of what they send. A secret is shown once.

import type { Static } from 'typebox';
import { DATASET_EVENT_KINDS } from '../../../engine/model/dataset-event.ts';
import { DELIVERY_STATES, WEBHOOK_ID_TEXT, WEBHOOK_STATES } from '../../../engine/model/webhook.ts';
import type { Webhook, WebhookDelivery } from '../../../engine/ports/webhooks.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { FaultSink } from '../../kernel/input/faults.ts';
import { Type, UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import { Datetime } from '../dataset-terms.ts';
import { CLOSED } from '../metadata/create-details.ts';

export const WebhookIdText = Type.String({ pattern: `^${WEBHOOK_ID_TEXT}$` });

const MAX_URL = 2_048;
const Url = Type.String({ minLength: 1, maxLength: MAX_URL });
const Kinds = Type.Array(Type.Enum([...DATASET_EVENT_KINDS]), { uniqueItems: true, description: 'Empty = all' });
const State = Type.Enum([...WEBHOOK_STATES]);

export const WebhookInput = Type.Named('WebhookInput', { url: Url, kinds: Type.Optional(Kinds) }, CLOSED);

export const WebhookPatch = Type.Named(
  'WebhookPatch',
  {
    url: Type.Optional(Url),
    kinds: Type.Optional(Kinds),
    state: Type.Optional(
      Type.Enum([...WEBHOOK_STATES], { description: 'What happened while it was disabled is not sent later' }),
    ),
  },
  CLOSED,
);

const Last = Type.Object(
  {
    at: Datetime,
    result: Type.Enum(['delivered', 'failed']),
    status: Type.Optional(Type.Integer({ description: 'Of the answer; absent when there was none' })),
    message: Type.Optional(Type.String()),
  },
  { description: 'The last attempt; absent before the first' },
);

const shown = {
  webhookId: WebhookIdText,
  owner: Type.Optional(UserIdOutput),
  url: Url,
  kinds: Kinds,
  state: State,
  reason: Type.Optional(Type.String({ description: 'Why it is disabled' })),
  created: Datetime,
  last: Type.Optional(Last),
};
const Secret = Type.String({ pattern: '^whsec_[A-Za-z0-9+/]{43}=$', description: 'Shown only here' });

export const WebhookView = Type.Named('Webhook', shown);
export type WebhookView = Static<typeof WebhookView>;
export const NewWebhookView = Type.Named('NewWebhook', { ...shown, secret: Secret });
export const WebhookSecretView = Type.Named('WebhookSecret', {
  secret: Secret,
  previousUntil: Type.String({
    format: 'date-time',
    description: 'Until then messages are signed with the secret before it too',
  }),
});
export const WebhookList = Type.Named('WebhookList', {
  results: Type.Array(WebhookView),
  next: Type.Optional(Type.String({ description: '`after` of the next page; absent on the last one' })),
});

const DeliveryView = Type.Named('WebhookDelivery', {
  number: Type.Integer({ minimum: 1 }),
  messageId: Type.String({ description: 'The `webhook-id` of all its attempts' }),
  type: Type.String({ description: '`type` of the message' }),
  state: Type.Enum([...DELIVERY_STATES]),
  failedAttempts: Type.Integer({ minimum: 0 }),
  created: Datetime,
  due: Type.Optional(Type.String({ format: 'date-time', description: 'Of the next attempt' })),
  ended: Type.Optional(Type.String({ format: 'date-time', description: 'When it was delivered or given up' })),
  status: Type.Optional(Type.Integer({ description: "Of the last attempt's answer" })),
  message: Type.Optional(Type.String({ description: 'Why the last attempt failed' })),
});
type DeliveryView = Static<typeof DeliveryView>;
export const WebhookDeliveryList = Type.Named('WebhookDeliveryList', {
  results: Type.Array(DeliveryView, { description: 'Newest first' }),
  next: Type.Optional(Type.Integer({ description: '`before` of the next page; absent on the last one' })),
});
export const WebhookTest = Type.Named('WebhookTest', {
  messageId: Type.String({ description: 'Its delivery is found by it' }),
});

export const webhookView = ({ id, owner, url, kinds, state, reason, created, last }: Webhook): WebhookView => ({
  webhookId: id,
  ...(owner === undefined ? {} : { owner }),
  ...{ url, kinds: [...kinds] as WebhookView['kinds'], state },
  ...(reason === undefined ? {} : { reason }),
  created: created.toISOString(),
  ...(last
    ? {
        last: {
          at: last.at.toISOString(),
          result: last.delivered ? 'delivered' : 'failed',
          ...(last.status === undefined ? {} : { status: last.status }),
          ...(last.message === undefined ? {} : { message: last.message }),
        },
      }
    : {}),
});

/** @param typeOf the `type` of the messages about this kind of event */
export const deliveryView = (delivery: WebhookDelivery, typeOf: (kind: string) => string): DeliveryView => ({
  ...{ number: delivery.number, messageId: delivery.messageId, type: typeOf(delivery.kind) },
  ...{ state: delivery.state, failedAttempts: delivery.attempts, created: delivery.created.toISOString() },
  ...(delivery.due ? { due: delivery.due.toISOString() } : {}),
  ...(delivery.ended ? { ended: delivery.ended.toISOString() } : {}),
  ...(delivery.status === undefined ? {} : { status: delivery.status }),
  ...(delivery.message === undefined ? {} : { message: delivery.message }),
});

/** The URL as it is stored. Addresses are checked when something is sent. */
export function checkedUrl(text: string, allowHttp: boolean, faults: FaultSink): string {
  const url = URL.parse(text);
  const schemes = allowHttp ? ['https:', 'http:'] : ['https:'];
  if (!url) faults.add(['url'], `is ${quote(text)}; expected a URL`);
  else if (!schemes.includes(url.protocol))
    faults.add(['url'], `starts with ${quote(url.protocol)}; allowed: ${schemes.join(', ')}`);
  // It is shown in lists, and sent to nobody else.
  else if (url.username !== '' || url.password !== '')
    faults.add(['url'], 'contains a user name or password; messages are signed instead');
  else if (url.hash !== '') faults.add(['url'], `ends in ${quote(url.hash)}, which would not be sent`);
  else if (url.href.length > MAX_URL)
    faults.add(['url'], `has ${url.href.length} characters when it is encoded; at most ${MAX_URL}`);
  return url?.href ?? text;
}
