// Webhooks: the subscriptions as their owners see them, their deliveries, the queue that the lane works on, and the way out.
// The caller passes the times.
//
// A delivery is one event for one subscription. Its states:
//   queued    --fetched-->    running    for a few minutes, or until its process dies; then it is queued again
//   running   --delivered-->  delivered
//   running   --failed-->     queued again with back-off, or dead after its last attempt
// After a failed attempt, the whole subscription rests for a while. Then it has one delivery running at a time, until one
// succeeds. So a receiver that is away costs little. A subscription is disabled when nothing could be delivered for days, when
// its receiver answers 410 Gone, when too much waits, or by its owner. Its waiting deliveries are dead then. While it is
// disabled, it misses events.

import type { Tenant, UserId } from '../model/ids.ts';
import type { DeliveryState, WebhookId, WebhookMessage, WebhookSecret, WebhookState } from '../model/webhook.ts';
import type { KeyedAnswer } from './idempotency-keys.ts';

/** Whose webhooks: a user's own, or, for administrators, all. */
export type WebhookViewer = UserId | 'all';

export interface NewWebhook {
  readonly id: WebhookId;
  /** Undefined = one of administrators, about all datasets. */
  readonly owner: UserId | undefined;
  readonly url: string;
  /** Kinds of events; empty = all. */
  readonly kinds: readonly string[];
  readonly secret: WebhookSecret;
}

/** How the last attempt ended. */
export interface LastDelivery {
  readonly at: Date;
  readonly delivered: boolean;
  /** What the receiver answered; undefined when there was no answer. */
  readonly status: number | undefined;
  readonly message: string | undefined;
}

export interface Webhook extends Omit<NewWebhook, 'secret'> {
  readonly state: WebhookState;
  /** Why it is disabled. */
  readonly reason: string | undefined;
  readonly created: Date;
  readonly last: LastDelivery | undefined;
}

export interface WebhookChange {
  readonly url?: string;
  readonly kinds?: readonly string[];
  /** An active one begins with the next event. With `reason`, for people, when it is disabled. */
  readonly state?: { readonly is: 'active' } | { readonly is: 'disabled'; readonly reason: string };
  /** Messages are signed with the one before it too until then. */
  readonly secret?: { readonly next: WebhookSecret; readonly previousUntil: Date };
  /** Stored with the change. */
  readonly keyed?: KeyedAnswer | undefined;
}

export interface WebhookCreation {
  /** Webhooks of the owner, or of the administrators. Concurrent calls can exceed it by their own number. */
  readonly most: number;
  readonly now: Date;
  /** Its answer is stored with the webhook. */
  readonly keyed?: ((made: Webhook) => KeyedAnswer) | undefined;
}

export interface WebhookPage {
  /** The last one of the page before. */
  readonly after?: WebhookId;
  readonly limit: number;
}

export interface Webhooks {
  /** It gets the events from now on. Undefined when the owner (or the administrators) have the most already. */
  create(webhook: NewWebhook, creation: WebhookCreation, signal: AbortSignal): Promise<Webhook | undefined>;
  /** In order of ids. */
  list(viewer: WebhookViewer, page: WebhookPage, signal: AbortSignal): Promise<readonly Webhook[]>;
  find(id: WebhookId, viewer: WebhookViewer, signal: AbortSignal): Promise<Webhook | undefined>;
  /** Undefined when the viewer has no such webhook. */
  change(
    id: WebhookId,
    viewer: WebhookViewer,
    change: WebhookChange,
    now: Date,
    signal: AbortSignal,
  ): Promise<Webhook | undefined>;
  /** With its deliveries. False when the viewer has no such webhook. */
  remove(id: WebhookId, viewer: WebhookViewer, signal: AbortSignal): Promise<boolean>;
}

export interface WebhookDelivery {
  /** Newer ones have higher numbers. */
  readonly number: number;
  /** The `webhook-id` of its attempts. */
  readonly messageId: string;
  readonly kind: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly created: Date;
  /** Of the next attempt, while it is queued. */
  readonly due: Date | undefined;
  readonly ended: Date | undefined;
  /** Of the last attempt. */
  readonly status: number | undefined;
  readonly message: string | undefined;
}

export interface WebhookDeliveries {
  /** Newest first; with `before`, those before this number. The caller has found the webhook. */
  page(
    id: WebhookId,
    page: { readonly before?: number; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly WebhookDelivery[]>;
  /** Queues a message for one attempt. `waiting`: an earlier one has not been sent; `disabled`: nothing is sent. */
  queueTest(
    id: WebhookId,
    message: WebhookMessage,
    now: Date,
    signal: AbortSignal,
  ): Promise<'queued' | 'waiting' | 'disabled'>;
  /** Removes deliveries that ended before then. Returns how many. */
  dropBefore(at: number, signal: AbortSignal): Promise<number>;
}

export interface WebhookClaim {
  readonly webhook: WebhookId;
  /** Whose share of the lane it counts against: the owner's, or that of all administrators. */
  readonly tenant: Tenant;
  readonly url: string;
  /** The current secret, then the one before it while that is valid. */
  readonly secrets: readonly WebhookSecret[];
  readonly number: number;
  readonly kind: string;
  readonly message: WebhookMessage;
  /** This attempt: only grows. A later one has taken the delivery over. */
  readonly attempt: number;
  /** Attempts that failed before. */
  readonly failed: number;
  /** Attempts of the subscription that failed since something was delivered. */
  readonly failedInTurn: number;
  /** Since when all attempts of the subscription have failed. */
  readonly failingSince: Date | undefined;
  /** How long it was due before it was claimed, in ms. */
  readonly waitedMs: number;
}

/** The end of an attempt, as both the delivery and its subscription keep it. */
interface Ended {
  readonly at: Date;
  readonly status: number | undefined;
  /** For the owner of the subscription. */
  readonly message: string;
}

export type WebhookOutcome =
  | { readonly kind: 'delivered'; readonly at: Date; readonly status: number }
  /** The attempt failed. Until `rest` nothing of the subscription is sent. */
  | ({ readonly kind: 'retry'; readonly due: Date; readonly rest: Date; readonly countsAttempt: true } & Ended)
  /** The last attempt of the delivery failed. With `disable`, the subscription is disabled for this reason. */
  | ({ readonly kind: 'undelivered'; readonly rest: Date; readonly disable?: string } & Ended)
  /** Interrupted: due at once. It may have been sent. */
  | { readonly kind: 'again' };

export interface WebhookCompletion {
  readonly claim: Pick<WebhookClaim, 'webhook' | 'number' | 'attempt'>;
  readonly outcome: WebhookOutcome;
}

export interface WebhookClaimRequest {
  /** 0 = complete only. */
  readonly limit: number;
  /** Tenants whose deliveries are not claimed; default none. */
  readonly withheld?: readonly Tenant[];
}

export interface WebhookQueue {
  /**
   * Writes outcomes, makes deliveries of new events, and claims up to `limit` of those that are due; all or nothing. Of one
   * subscription, a few run at a time over all processes. Subscriptions take turns. An outcome is ignored when a later attempt
   * has taken the delivery over.
   */
  completeAndFetch(
    done: readonly WebhookCompletion[],
    claim: WebhookClaimRequest,
    now: Date,
    signal: AbortSignal,
  ): Promise<readonly WebhookClaim[]>;
  /** Calls `wake` when there may be deliveries to claim. The returned function unsubscribes. */
  watch(wake: () => void): () => void;
}

export interface DueWebhookNotice {
  readonly webhook: WebhookId;
  readonly owner: UserId;
  readonly url: string;
  /** Why it was disabled. */
  readonly reason: string;
  /** Position of the last event before it was active: another one each time it is activated. */
  readonly since: number;
  /** Attempts, including this one. */
  readonly attempts: number;
}

type NoticeName = Pick<DueWebhookNotice, 'webhook' | 'since'>;

/** Tells the owners of webhooks that were disabled, unless they did that themselves. Each time once. */
export interface WebhookNotices {
  /** The notice that has been due longest; nobody else gets it until `until`, when it is due again. */
  claim(now: Date, until: Date, signal: AbortSignal): Promise<DueWebhookNotice | undefined>;
  /** It was sent, or is given up. */
  done(notice: NoticeName, signal: AbortSignal): Promise<void>;
  /** Schedules the next attempt. An attempt that does not count is subtracted again. */
  postpone(notice: NoticeName, due: Date, counted: boolean, signal: AbortSignal): Promise<void>;
}

export type PostResult =
  | { readonly kind: 'answered'; readonly status: number }
  /** Nothing was sent, or no answer came. The message is for the owner of the subscription. */
  | { readonly kind: 'failed'; readonly message: string };

export interface WebhookSender {
  /** One POST. Redirects are answers. Rejects only when aborted. */
  post(url: URL, body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<PostResult>;
}
