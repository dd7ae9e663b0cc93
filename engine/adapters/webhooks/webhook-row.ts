// Rows of webhooks, and what SQL and the program call the same things.

import type { UserId } from '../../model/ids.ts';
import type { WebhookId, WebhookState } from '../../model/webhook.ts';
import type { Webhook, WebhookViewer } from '../../ports/webhooks.ts';

/** Wakes the lane of every process. */
export const WEBHOOK_CHANNEL = 'longshore_webhook';

export const COLUMNS = `w.id, w.owner_id::text as owner, w.url, w.kinds, w.state, w.reason, w.created,
  w.last_at, w.last_delivered, w.last_status, w.last_message`;

/** Without the secrets, which only the lane reads. */
export interface WebhookRow {
  readonly id: WebhookId;
  readonly owner: UserId | null;
  readonly url: string;
  readonly kinds: readonly string[];
  readonly state: WebhookState;
  readonly reason: string | null;
  readonly created: Date;
  readonly last_at: Date | null;
  readonly last_delivered: boolean | null;
  readonly last_status: number | null;
  readonly last_message: string | null;
}

export const webhookOf = (row: WebhookRow): Webhook => ({
  id: row.id,
  owner: row.owner ?? undefined,
  url: row.url,
  kinds: row.kinds,
  state: row.state,
  reason: row.reason ?? undefined,
  created: row.created,
  last: row.last_at
    ? {
        at: row.last_at,
        delivered: row.last_delivered ?? false,
        status: row.last_status ?? undefined,
        message: row.last_message ?? undefined,
      }
    : undefined,
});

/** The parameter that {@link seenBy} compares with; null = all. */
export const viewerValue = (viewer: WebhookViewer): string | null => (viewer === 'all' ? null : viewer);

/** A condition: the viewer in this parameter sees the webhook `w`. */
export const seenBy = (parameter: `$${number}`): string =>
  `(${parameter}::numeric is null or w.owner_id = ${parameter}::numeric)`;
