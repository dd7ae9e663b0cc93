// The messages of webhooks: `{type, timestamp, data}`, as Standard Webhooks recommends. `data` is the event as the event stream
// shows it.

import type { DatasetEvent } from './dataset-event.ts';
import { stringifyJson } from './json.ts';
import { TEST_TYPE, type WebhookId } from './webhook.ts';

/** The `type` of the message about an event of this kind. */
export const messageTypeOf = (kind: string): string => (kind === TEST_TYPE ? kind : `dataset.${kind}`);

/** @param view the event as callers see it */
export const eventBody = (event: DatasetEvent, view: (event: DatasetEvent) => object): string =>
  stringifyJson({
    type: messageTypeOf(event.kind),
    timestamp: new Date(event.at).toISOString(),
    data: view(event),
  });

export const testBody = (webhookId: WebhookId, nowMs: number): string =>
  JSON.stringify({ type: TEST_TYPE, timestamp: new Date(nowMs).toISOString(), data: { webhookId } });
