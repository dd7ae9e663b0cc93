// The webhooks of the configuration: the lane that sends them, and what removes old deliveries.

import { webhookRetention } from '../../actors/daemons/sweeps.ts';
import type { PausesInForce } from '../../actors/pauses/pauses-in-force.ts';
import { webhookLane } from '../../actors/webhooks/webhook-lane.ts';
import type { Configuration } from '../../config/configuration.ts';
import { WebhookHttp } from '../../engine/adapters/remote/webhook-http.ts';
import { EventDeliveries } from '../../engine/adapters/webhooks/event-deliveries.ts';
import { PostgresWebhookQueue } from '../../engine/adapters/webhooks/webhook-queue-postgres.ts';
import { eventBody } from '../../engine/model/webhook-message.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import { eventView } from '../../http/installer/events/event-terms.ts';
import type { Core, CoreParts } from './open-core.ts';

/** Beyond what a delivery may take. */
const LEASE_MARGIN_MS = 60_000;
const DAY_MS = 24 * 3_600_000;

/** In start order; none when they are disabled. */
export function webhookChildren(
  { restService }: Configuration['installer'],
  core: Pick<Core, 'db' | 'instance' | 'datasetEvents' | 'webhooks'>,
  pauses: Pick<PausesInForce, 'find' | 'watch'>,
  parts: CoreParts,
  scope: Scope,
): readonly ChildSpec[] {
  const {
    enabled,
    ports,
    allow,
    connectTimeoutMs: connectMs,
    timeoutMs,
    retry,
    disableAfterMs,
    lane,
  } = restService.webhooks;
  if (!enabled) return [];
  const { inMemoryQueueSize: queueSize, workerCount } = lane;
  const sender = scope.use('webhook sender', new WebhookHttp({ ports, allow, connectMs, timeoutMs }));
  const queue = new PostgresWebhookQueue(core.db, core.instance, {
    events: new EventDeliveries(core.db, core.datasetEvents, (event) => eventBody(event, eventView)),
    forgetMs: Math.max(DAY_MS, 2 * retry.maxMs),
    leaseMs: timeoutMs * (Math.ceil(queueSize / workerCount) + 1) + LEASE_MARGIN_MS,
  });
  return [
    {
      name: 'webhook',
      create: () =>
        webhookLane({
          ...{ queue, sender, retry, disableAfterMs, pauses, queueSize, workerCount, random: Math.random },
          ...parts,
        }),
    },
    { name: 'webhookRetention', create: () => webhookRetention({ deliveries: core.webhooks, ...parts }) },
  ];
}
