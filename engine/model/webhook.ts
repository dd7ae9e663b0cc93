// Webhooks: subscriptions to the events of datasets, and what is sent about one event, signed as Standard Webhooks has it
// (https://www.standardwebhooks.com). A receiver checks the signature with any of its libraries.

import { createHmac } from 'node:crypto';
import { type Branded, type Tenant, tenantOfUser, type UserId } from './ids.ts';

/** `wh_` and 32 hexadecimal digits. */
export type WebhookId = Branded<'WebhookId'>;

/** `whsec_` and 32 random bytes in Base64. Never in logs, lists or the audit trail. */
export type WebhookSecret = Branded<'WebhookSecret'>;

export const WEBHOOK_STATES = ['active', 'disabled'] as const;
export type WebhookState = (typeof WEBHOOK_STATES)[number];

/**
 *   queued     waits for its first or next attempt      running  is being sent
 *   delivered  the receiver answered with a 2xx status  dead     given up, after its attempts or with its subscription
 */
export const DELIVERY_STATES = ['queued', 'running', 'delivered', 'dead'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The type of the message that a subscriber orders to see whether it arrives. */
export const TEST_TYPE = 'webhook.test';

export const WEBHOOK_ID_TEXT = 'wh_[0-9a-f]{32}';
const WEBHOOK_ID = new RegExp(`^${WEBHOOK_ID_TEXT}$`);
const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

type Random = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

/** The text as the id of a webhook, or undefined when it is not one. */
export const parseWebhookId = (text: string): WebhookId | undefined =>
  WEBHOOK_ID.test(text) ? (text as WebhookId) : undefined;

/** @param random fills the given array with random bytes */
export const newWebhookId = (random: Random): WebhookId => `wh_${hexOf(random)}` as WebhookId;

/** @param random fills the given array with random bytes */
export const newWebhookSecret = (random: Random): WebhookSecret =>
  `${SECRET_PREFIX}${Buffer.from(random(new Uint8Array(SECRET_BYTES))).toString('base64')}` as WebhookSecret;

/** The id of a test message. @param random fills the given array with random bytes */
export const newTestMessageId = (random: Random): string => `msg_test_${hexOf(random)}`;

const hexOf = (random: Random): string => Buffer.from(random(new Uint8Array(16))).toString('hex');

/** Whose share of the lane a delivery counts against. Administrators share one. */
export const tenantOfWebhook = (owner: UserId | undefined): Tenant =>
  owner === undefined ? ('administrators' as Tenant) : tenantOfUser(owner);

export interface WebhookMessage {
  /** The same for each attempt. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
}

/**
 * The headers of one attempt.
 * @param secrets of which the receiver has one: the current one, and for a while after a rotation the one before it
 */
export function signedHeaders(
  { id, body }: WebhookMessage,
  secrets: readonly WebhookSecret[],
  nowMs: number,
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
