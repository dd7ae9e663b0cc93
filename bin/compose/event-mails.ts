// The mails about events of datasets, and about webhooks that were disabled.

import { eventMailMetrics, sendEventMails } from '../../actors/daemons/event-mail.ts';
import { PostgresWebhookNotices } from '../../engine/adapters/webhooks/webhook-notices-postgres.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import type { MailDelivery } from './access-mail.ts';
import type { Core, CoreParts } from './open-core.ts';

/** None without a way to deliver: events are collected once there is one. */
export function eventMailChildren(
  delivery: MailDelivery | undefined,
  core: Pick<Core, 'db' | 'eventMails' | 'accounts'>,
  parts: CoreParts,
): readonly ChildSpec[] {
  const counts = eventMailMetrics(parts.metrics);
  if (!delivery) return [];
  const { eventMails: outbox, accounts } = core;
  const notices = new PostgresWebhookNotices(core.db);
  return [
    {
      name: 'eventMail',
      create: () => sendEventMails({ ...delivery, outbox, notices, accounts, counts, ...parts, random: Math.random }),
    },
  ];
}
