// The texts of mails about events of datasets, and about webhooks that were disabled. Names and messages are those of users and
// plugins: they are escaped in HTML, and truncated.

import mustache from 'mustache';
import type { ToldEvent } from '../../engine/model/event-mail.ts';
import type { DueWebhookNotice } from '../../engine/ports/webhooks.ts';

export interface EventMailWords {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** In code points. */
const LONGEST_NAME = 100;
const LONGEST_MESSAGE = 300;

const TEXT = `{{#events}}
{{what}}
  {{dataset}}, {{at}}
{{#messages}}
  {{.}}
{{/messages}}

{{/events}}
{{#more}}
And {{more}} more.

{{/more}}
You get these mails because you asked for them. The service's settings for notifications (PATCH /users/self/notifications) end
them.
`;

const HTML = `<!doctype html>
<html><body>
{{#events}}
<p>{{what}}<br>{{dataset}}, {{at}}{{#messages}}<br>{{.}}{{/messages}}</p>
{{/events}}
{{#more}}
<p>And {{more}} more.</p>
{{/more}}
<p>You get these mails because you asked for them. The service's settings for notifications (PATCH /users/self/notifications)
end them.</p>
</body></html>
`;

const WEBHOOK_TEXT = `Your webhook to {{receiver}} was disabled:
{{reason}}

Messages that waited for it are not sent. PATCH /webhooks/{{webhook}} with {"state": "active"} activates it. It then gets what
happens from then on; GET /events tells what it has missed.
`;

const WEBHOOK_HTML = `<!doctype html>
<html><body>
<p>Your webhook to {{receiver}} was disabled:<br>{{reason}}</p>
<p>Messages that waited for it are not sent. PATCH /webhooks/{{webhook}} with {"state": "active"} activates it. It then gets
what happens from then on; GET /events tells what it has missed.</p>
</body></html>
`;

/** @param total all events, of which these are the first */
export function eventMailWords(events: readonly ToldEvent[], total: number): EventMailWords {
  const [first] = events;
  const view = {
    events: events.map((event) => ({
      what: whatOf(event),
      dataset: event.dataset,
      at: `${new Date(event.at).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
      messages: (event.detail.messages ?? []).map((message) => oneLine(message, LONGEST_MESSAGE)),
    })),
    more: total > events.length ? total - events.length : undefined,
  };
  return {
    subject: total === 1 && first ? whatOf(first) : `${total} events of your datasets`,
    text: mustache.render(TEXT, view, undefined, { escape: (value: unknown) => String(value) }),
    html: mustache.render(HTML, view),
  };
}

/** To the owner of a webhook that was disabled. */
export function webhookMailWords({
  webhook,
  url,
  reason,
}: Pick<DueWebhookNotice, 'webhook' | 'url' | 'reason'>): EventMailWords {
  const { origin, pathname } = new URL(url);
  const view = {
    webhook,
    // Without its query, which may be secret.
    receiver: oneLine(origin + pathname, LONGEST_MESSAGE),
    reason: oneLine(reason, LONGEST_MESSAGE),
  };
  return {
    subject: 'Your webhook was disabled',
    text: mustache.render(WEBHOOK_TEXT, view, undefined, { escape: (value: unknown) => String(value) }),
    html: mustache.render(WEBHOOK_HTML, view),
  };
}

function whatOf({ kind, dataset, name, detail: { status, step, target } }: ToldEvent): string {
  const named = name === undefined ? `Dataset ${dataset}` : `"${oneLine(name, LONGEST_NAME)}"`;
  switch (kind) {
    case 'accepted':
      return `${named} was accepted`;
    case 'import-ended':
      return `${named} ${IMPORTS[status ?? ''] ?? 'was imported'}`;
    case 'installed':
      return `${named} is installed`;
    case 'failed':
      return `${named}: ${FAILURES[step ?? 'upload']}${target === undefined ? '' : ` on ${target}`}`;
    case 'deleted':
      return `${named} was deleted`;
    case 'shared':
      return `${named} was shared with you`;
    case 'access-expiring':
      return `${named}: your access will expire soon`;
    default:
      return kind satisfies never;
  }
}

const IMPORTS: Readonly<Record<string, string>> = {
  complete: 'was imported',
  invalid: 'was not imported: its data are not valid',
  failed: 'could not be imported',
};

const FAILURES = {
  upload: 'its upload failed',
  install: 'it could not be installed',
  metadata: 'its metadata could not be installed',
} as const;

/** A subject must be a single line. */
function oneLine(text: string, most: number): string {
  const points = [...text.slice(0, 2 * most + 2).replaceAll(/[\s\p{Cc}]+/gu, ' ')];
  return points.length <= most ? points.join('') : `${points.slice(0, most).join('')} [...]`;
}
