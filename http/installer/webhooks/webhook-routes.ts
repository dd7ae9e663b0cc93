// The routes of webhooks (docs/webhooks.md). A user has subscriptions to the events of GET /events. Those of administrators are
// about all datasets; administrators also see and change those of users, but never their secrets.

import type { Static } from 'typebox';
import {
  newTestMessageId,
  newWebhookId,
  newWebhookSecret,
  parseWebhookId,
  type WebhookId,
} from '../../../engine/model/webhook.ts';
import { messageTypeOf, testBody } from '../../../engine/model/webhook-message.ts';
import type { Webhook, WebhookDeliveries, Webhooks, WebhookViewer } from '../../../engine/ports/webhooks.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { jsonBody } from '../../kernel/bodies/body.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { conflict, forbidden, type HttpError, notFound, tooMany } from '../../kernel/pipeline/errors.ts';
import type { Created } from '../../kernel/pipeline/idempotency.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { nameOf } from '../admin/admin-route.ts';
import {
  checkedUrl,
  deliveryView,
  NewWebhookView,
  WebhookDeliveryList,
  WebhookIdText,
  WebhookInput,
  WebhookList,
  WebhookPatch,
  WebhookSecretView,
  WebhookTest,
  WebhookView,
  webhookView,
} from './webhook-terms.ts';

export interface WebhookSettings {
  /** False = there is no lane that would send anything. */
  readonly enabled: boolean;
  readonly allowHttp: boolean;
  /** Of one user; and, for all administrators together, about all datasets. */
  readonly perUser: number;
}

interface WebhookRouteOptions {
  readonly webhooks: Webhooks & Pick<WebhookDeliveries, 'page' | 'queueTest'>;
  readonly random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;
  readonly clock: Clock;
}

const MAX_BODY_BYTES = 8 * 1024;
const DEFAULT_LIMIT = 100;
const RETRY_SECONDS = 60;
/** How long the secret before a rotation stays valid. */
const PREVIOUS_MS = 24 * 3_600_000;

const ONE = '/webhooks/:id';
const params = { id: { description: 'Id of the webhook', schema: { ...WebhookIdText } } };
const limit = {
  description: 'Maximum number of items',
  schema: { type: 'integer', minimum: 1, maximum: DEFAULT_LIMIT, default: DEFAULT_LIMIT },
} as const;
const GUESTS = 'Guests have no webhooks';
const UNKNOWN = 'The caller has no such webhook';
const DISABLED = `${GUESTS}, or webhooks are not enabled here`;
const BODY = {
  400: 'The body is not JSON or too large',
  415: 'The body is not JSON',
  422: 'The body is invalid, or the URL cannot be called',
};

export function webhookRoutes(options: WebhookRouteOptions, settings: WebhookSettings): readonly Route[] {
  const { webhooks, random, clock } = options;
  const readInput = jsonBody(WebhookInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  const readPatch = jsonBody(WebhookPatch, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  const demandEnabled = (): void => {
    if (!settings.enabled) throw forbidden('webhooks are not enabled here');
  };
  const now = (): Date => new Date(clock.now());
  return [
    {
      method: 'GET',
      path: '/webhooks',
      access: 'user-or-admin',
      audit: 'none',
      operationId: 'listWebhooks',
      summary: "Lists the caller's webhooks; for administrators, all",
      query: { after: { description: '`next` of the previous page', schema: { ...WebhookIdText } }, limit },
      responses: { 200: answer('A page, in order of ids', WebhookList), ...refusals({ 403: GUESTS }) },
      handler: async (context) => {
        const { after, limit: most = DEFAULT_LIMIT } = context.query;
        const page = { ...(after === undefined ? {} : { after: String(after) as WebhookId }), limit: Number(most) };
        const found = await webhooks.list(viewerOf(context), page, context.signal);
        const next = found.length === page.limit ? found.at(-1)?.id : undefined;
        const body: Static<typeof WebhookList> = { results: found.map(webhookView), ...(next ? { next } : {}) };
        await context.json(200, body);
      },
    },
    {
      method: 'POST',
      path: '/webhooks',
      access: 'user-or-admin',
      keyed: true,
      operationId: 'createWebhook',
      summary: 'Creates a webhook: events from now on are posted to its URL',
      body: { description: 'Where to, and which kinds', content: { 'application/json': { ...WebhookInput } } },
      responses: {
        201: answer('The webhook with its secret, which is not shown again', NewWebhookView),
        ...refusals({ ...BODY, 403: DISABLED, 429: 'The caller has as many webhooks as are allowed' }),
      },
      handler: async (context) => {
        demandEnabled();
        const { body, given, faults } = await readInput(context.request);
        const url = body.url === undefined ? '' : checkedUrl(body.url, settings.allowHttp, faults);
        faults.throwIfAny();
        await context.onceFor(given, async (keyed) => {
          const secret = newWebhookSecret(random);
          const owner = context.caller.kind === 'admin' ? undefined : context.userId;
          const made = { id: newWebhookId(random), owner, url, kinds: body.kinds ?? [], secret };
          const shown = (webhook: Webhook): Created => {
            const view: Static<typeof NewWebhookView> = { ...webhookView(webhook), secret };
            return { code: 201, body: view, path: `/webhooks/${webhook.id}` };
          };
          const seal = keyed && ((webhook: Webhook) => keyed.seal(shown(webhook)));
          const creation = { most: settings.perUser, now: now(), keyed: seal };
          const webhook = await webhooks.create(made, creation, context.signal);
          if (!webhook)
            throw tooMany(
              `there are ${settings.perUser} webhooks already, the maximum; remove one first`,
              RETRY_SECONDS,
            );
          context.concerns({ records: { id: webhook.id } });
          context.log.info({ webhook: webhook.id }, 'webhook created');
          return shown(webhook);
        });
      },
    },
    {
      method: 'GET',
      path: ONE,
      params,
      access: 'user-or-admin',
      audit: 'none',
      operationId: 'getWebhook',
      summary: 'Shows a webhook, and how its last attempt ended',
      responses: { 200: answer('The webhook', WebhookView), ...refusals({ 403: GUESTS, 404: UNKNOWN }) },
      handler: async (context) => context.json(200, webhookView(await found(context, webhooks))),
    },
    {
      method: 'PATCH',
      path: ONE,
      params,
      access: 'user-or-admin',
      operationId: 'patchWebhook',
      summary: 'Changes the URL or the kinds of a webhook; disables or activates it',
      body: { description: 'What changes', content: { 'application/json': { ...WebhookPatch } } },
      responses: {
        200: answer('The webhook', WebhookView),
        ...refusals({ ...BODY, 403: DISABLED, 404: UNKNOWN }),
      },
      handler: async (context) => {
        demandEnabled();
        const id = idOf(context);
        const { body, faults } = await readPatch(context.request);
        const { kinds, state } = body;
        const change = {
          ...(body.url === undefined ? {} : { url: checkedUrl(body.url, settings.allowHttp, faults) }),
          ...(kinds === undefined ? {} : { kinds }),
          ...(state === undefined ? {} : { state: stateChange(state, context) }),
        };
        faults.throwIfAny();
        const webhook = await webhooks.change(id, viewerOf(context), change, now(), context.signal);
        if (!webhook) throw unknown(context);
        await context.json(200, webhookView(webhook));
      },
    },
    {
      method: 'DELETE',
      path: ONE,
      params,
      access: 'user-or-admin',
      operationId: 'deleteWebhook',
      summary: 'Removes a webhook, and what waits to be sent to it',
      responses: { 204: { description: 'Removed' }, ...refusals({ 403: GUESTS, 404: UNKNOWN }) },
      handler: async (context) => {
        if (!(await webhooks.remove(idOf(context), viewerOf(context), context.signal))) throw unknown(context);
        context.empty(204);
      },
    },
    {
      method: 'POST',
      path: `${ONE}/rotate-secret`,
      params,
      access: 'user-or-admin',
      keyed: true,
      operationId: 'rotateWebhookSecret',
      summary: 'Gives a webhook a new secret. For a day, messages are signed with both',
      responses: {
        200: answer('The secret, which is not shown again', WebhookSecretView),
        ...refusals({ 403: `${DISABLED}, or the webhook is a user's and the caller another`, 404: UNKNOWN }),
      },
      handler: async (context) => {
        demandEnabled();
        const { id, owner } = await found(context, webhooks);
        if (context.caller.kind === 'admin' && owner !== undefined)
          throw forbidden(`the secret of webhook ${id} is known to its owner only`);
        await context.onceFor({}, async (keyed) => {
          const secret = newWebhookSecret(random);
          const previousUntil = new Date(clock.now() + PREVIOUS_MS);
          const view: Static<typeof WebhookSecretView> = { secret, previousUntil: previousUntil.toISOString() };
          const shown: Created = { code: 200, body: view };
          const change = { secret: { next: secret, previousUntil }, keyed: keyed?.seal(shown) };
          if (!(await webhooks.change(id, viewerOf(context), change, now(), context.signal))) throw unknown(context);
          return shown;
        });
      },
    },
    {
      method: 'POST',
      path: `${ONE}/test`,
      params,
      access: 'user-or-admin',
      operationId: 'testWebhook',
      summary: 'Sends a test message to a webhook, once. Its deliveries tell whether it arrived',
      responses: {
        202: answer('It is about to be sent', WebhookTest),
        ...refusals({
          403: DISABLED,
          404: UNKNOWN,
          409: 'The webhook is disabled, or an earlier test message has not been sent yet',
        }),
      },
      handler: async (context) => {
        demandEnabled();
        const { id } = await found(context, webhooks);
        const message = { id: newTestMessageId(random), body: testBody(id, clock.now()) };
        const result = await webhooks.queueTest(id, message, now(), context.signal);
        if (result === 'disabled') throw conflict(`webhook ${id} is disabled; activate it first`);
        if (result === 'waiting') throw conflict(`a test message of webhook ${id} has not been sent yet`);
        await context.json(202, { messageId: message.id });
      },
    },
    {
      method: 'GET',
      path: `${ONE}/deliveries`,
      params,
      access: 'user-or-admin',
      audit: 'none',
      operationId: 'listWebhookDeliveries',
      summary: 'Lists what was sent to a webhook, and what waits. Kept for a week',
      query: {
        before: {
          description: '`next` of the previous page',
          schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
        },
        limit,
      },
      responses: {
        200: answer('A page, newest first', WebhookDeliveryList),
        ...refusals({ 403: GUESTS, 404: UNKNOWN }),
      },
      handler: async (context) => {
        const { id } = await found(context, webhooks);
        const { before, limit: most = DEFAULT_LIMIT } = context.query;
        const page = { ...(before === undefined ? {} : { before: Number(before) }), limit: Number(most) };
        const deliveries = await webhooks.page(id, page, context.signal);
        const next = deliveries.length === page.limit ? deliveries.at(-1)?.number : undefined;
        const body: Static<typeof WebhookDeliveryList> = {
          results: deliveries.map((delivery) => deliveryView(delivery, messageTypeOf)),
          ...(next ? { next } : {}),
        };
        await context.json(200, body);
      },
    },
  ];
}

const viewerOf = (context: RequestContext): WebhookViewer => (context.caller.kind === 'admin' ? 'all' : context.userId);

function stateChange(state: Webhook['state'], { caller }: RequestContext) {
  if (state === 'active') return { is: state } as const;
  const by = caller.kind === 'admin' ? `an administrator (${nameOf(caller)})` : 'its owner';
  return { is: state, reason: `disabled by ${by}` } as const;
}

function idOf(context: RequestContext): WebhookId {
  const id = parseWebhookId(context.param('id'));
  if (id === undefined) throw unknown(context);
  return id;
}

async function found(context: RequestContext, webhooks: Pick<Webhooks, 'find'>): Promise<Webhook> {
  const webhook = await webhooks.find(idOf(context), viewerOf(context), context.signal);
  if (!webhook) throw unknown(context);
  return webhook;
}

const unknown = (context: RequestContext): HttpError => notFound(`you have no webhook '${context.param('id')}'`);
