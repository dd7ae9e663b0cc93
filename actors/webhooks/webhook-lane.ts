// Sends the messages of webhooks on an engine lane. A message is sent at least once: after a crash, or when the outcome could
// not be written, it is sent again, with the same id.
//   2xx             delivered
//   410             the subscription is disabled: its receiver wants no more
//   anything else   retried with growing delays, until the attempts are used up; then the delivery is dead
// Whoever has received nothing for days is disabled too.

import { Lane } from '../../engine/jobs/lane.ts';
import { signedHeaders, TEST_TYPE } from '../../engine/model/webhook.ts';
import type {
  PostResult,
  WebhookClaim,
  WebhookOutcome,
  WebhookQueue,
  WebhookSender,
} from '../../engine/ports/webhooks.ts';
import { kindOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import { backoffMs, type Random, type RetryPolicy } from '../../engine/runtime/retry.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { TenantSource } from '../jobs/tenant-source.ts';
import { pausableSource } from '../pauses/paused-work.ts';
import type { PausesInForce } from '../pauses/pauses-in-force.ts';

export const WEBHOOK_LANE = 'webhook';

export interface WebhookLaneOptions {
  readonly queue: WebhookQueue;
  readonly sender: WebhookSender;
  /** Of a delivery. */
  readonly retry: RetryPolicy;
  /** A subscription of which nothing was delivered for this long is disabled. */
  readonly disableAfterMs: number;
  /** What operators have paused. */
  readonly pauses: Pick<PausesInForce, 'find' | 'watch'>;
  /** Deliveries that wait in memory, and that run at once. */
  readonly queueSize: number;
  readonly workerCount: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
}

export type WebhookLane = Lane<WebhookClaim, WebhookOutcome>;

/** The net under LISTEN, and how late a retry may be. */
const POLL_MS = 2_000;
/** Most that a subscription rests after an attempt failed, however long its delivery waits. */
const LONGEST_REST_MS = 300_000;
const GONE = 410;
const AGAIN: WebhookOutcome = { kind: 'again' };

export function webhookLane(options: WebhookLaneOptions): WebhookLane {
  const { queue, pauses, clock, log, metrics, queueSize, workerCount } = options;
  const isPaused = (): boolean => pauses.find('lane', WEBHOOK_LANE) !== undefined;
  const source = new TenantSource<WebhookClaim, WebhookOutcome>({ queue, clock, claimant: () => lane });
  const lane: WebhookLane = new Lane<WebhookClaim, WebhookOutcome>({
    name: WEBHOOK_LANE,
    ...{ clock, log, metrics, queueSize, workerCount },
    pollMs: POLL_MS,
    source: pausableSource(source, isPaused, (wake) => pauses.watch(wake)),
    // Claimed before the pause, and not started.
    run: async (claim, signal) => (isPaused() ? AGAIN : deliver(claim, options, signal)),
    settle: (error, claim) => settled(error, claim, options),
    abandon: () => AGAIN,
    idOf: ({ number }) => number,
    tenantOf: ({ tenant }) => tenant,
    waitedMs: ({ waitedMs }) => waitedMs,
  });
  return lane;
}

/** One attempt. Rejects only when aborted. */
export async function deliver(
  claim: WebhookClaim,
  options: Pick<WebhookLaneOptions, 'sender' | 'clock' | 'log' | 'random' | 'retry' | 'disableAfterMs'>,
  signal: AbortSignal,
): Promise<WebhookOutcome> {
  const { sender, clock } = options;
  const { webhook, number, kind, message, secrets, attempt } = claim;
  const log = options.log.child({ lane: WEBHOOK_LANE, webhook, delivery: number, kind, attempt });
  const begun = clock.now();
  const result = await sender.post(new URL(claim.url), message.body, signedHeaders(message, secrets, begun), signal);
  const at = new Date(clock.now());
  const ms = at.getTime() - begun;
  if (result.kind === 'answered' && result.status >= 200 && result.status < 300) {
    log.debug({ ms, status: result.status }, 'webhook delivered');
    return { kind: 'delivered', at, status: result.status };
  }
  const outcome = failed(claim, result, at, options);
  const disabled = outcome.kind === 'undelivered' ? outcome.disable : undefined;
  log.debug({ ms, outcome: outcome.kind, reason: outcome.message }, 'webhook attempt failed');
  if (disabled !== undefined) log.warn({ reason: disabled }, 'webhook disabled');
  return outcome;
}

/** The outcome of an attempt that threw. A defect uses attempts up, so it cannot go round for ever. */
export function settled(
  error: unknown,
  claim: WebhookClaim,
  options: Pick<WebhookLaneOptions, 'clock' | 'log' | 'random' | 'retry' | 'disableAfterMs'>,
): WebhookOutcome {
  if (kindOf(error) === 'aborted') return AGAIN;
  const { webhook, number } = claim;
  options.log.error({ lane: WEBHOOK_LANE, webhook, delivery: number, err: error }, 'webhook attempt broke');
  return failed(claim, { kind: 'failed', message: 'internal error' }, new Date(options.clock.now()), options);
}

type Failed = Extract<WebhookOutcome, { readonly message: string }>;

function failed(
  { kind, failed: before, failedInTurn, failingSince }: WebhookClaim,
  result: PostResult,
  at: Date,
  { retry, disableAfterMs, random }: Pick<WebhookLaneOptions, 'retry' | 'disableAfterMs' | 'random'>,
): Failed {
  const now = at.getTime();
  const rest = new Date(now + Math.min(LONGEST_REST_MS, backoffMs(retry, failedInTurn + 1, random)));
  const status = result.kind === 'answered' ? result.status : undefined;
  const end = { at, status, message: messageOf(result), rest };
  if (status === GONE) return { kind: 'undelivered', ...end, disable: 'the receiver answered 410 Gone' };
  if (failingSince && now - failingSince.getTime() >= disableAfterMs)
    return {
      ...{ kind: 'undelivered', ...end },
      disable: `nothing could be delivered since ${failingSince.toISOString()}; last: ${end.message}`,
    };
  if (kind === TEST_TYPE || before + 1 >= retry.attempts) return { kind: 'undelivered', ...end };
  return { kind: 'retry', ...end, due: new Date(now + backoffMs(retry, before + 1, random)), countsAttempt: true };
}

function messageOf(result: PostResult): string {
  if (result.kind === 'failed') return result.message;
  const isRedirect = result.status >= 300 && result.status < 400;
  return `answered ${result.status}${isRedirect ? '; redirects are not followed' : ''}`;
}
