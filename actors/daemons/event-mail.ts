// Sends the mails about events of datasets, and about webhooks that were disabled, one at a time. A process that crashes while
// it sends leaves the mail claimed until the claim expires; it may then be sent twice.

import { isEmail } from '../../engine/model/access-mail.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { Accounts } from '../../engine/ports/access-people.ts';
import type { EventMailOutbox } from '../../engine/ports/event-mails.ts';
import type { Mailer } from '../../engine/ports/mail.ts';
import type { WebhookNotices } from '../../engine/ports/webhooks.ts';
import { Failure, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Counter, Gauge, Metrics } from '../../engine/runtime/metrics.ts';
import { afterFailure, type Random, RETRIES, type RetryPolicy, retrying } from '../../engine/runtime/retry.ts';
import { Timer, type TimerParts } from '../../engine/runtime/timer.ts';
import { type EventMailWords, eventMailWords, webhookMailWords } from './event-mail-text.ts';

export interface EventMailOptions extends TimerParts {
  readonly outbox: EventMailOutbox;
  readonly notices: WebhookNotices;
  readonly mailer: Mailer;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly from: string;
  readonly replyTo: string | undefined;
  readonly retry: RetryPolicy;
  readonly counts: EventMailMetrics;
  readonly random: Random;
}

interface EventMailMetrics {
  readonly sent: Counter<'result'>;
  readonly waiting: Gauge<string>;
}

const PERIOD_MS = 10_000;
/** Longer than a mail server may take for one mail. */
const CLAIM_MS = 10 * 60_000;

type Result = 'sent' | 'retry' | 'away' | 'dropped';

export function eventMailMetrics(metrics: Metrics): EventMailMetrics {
  const sent = metrics.counter(
    'event_mails_total',
    'Attempts to send a mail about events of datasets, or about a webhook that was disabled, by outcome.',
    ['result'],
  );
  // Start at zero so that the first increment is visible as an increase.
  for (const result of ['sent', 'retry', 'dropped']) sent.inc({ result }, 0);
  return { sent, waiting: metrics.gauge('event_mails', 'Mails about events of datasets that wait.') };
}

export const sendEventMails = (options: EventMailOptions): Timer<number> =>
  new Timer({
    ...options,
    name: 'eventMail',
    periodMs: PERIOD_MS,
    firstMs: 0,
    runOnce: (signal) => sendDueEventMails(options, signal),
  });

/** A mail that is claimed. */
interface DueMail {
  readonly user: UserId;
  readonly attempts: number;
  /** The same for each attempt. */
  readonly key: string;
  readonly words: EventMailWords;
  /** For the log. */
  readonly about: object;
  /** It was sent, or is given up: `failure` says why. */
  done(now: Date, failure: string | undefined, signal: AbortSignal): Promise<void>;
  postpone(due: Date, counted: boolean, failure: string, signal: AbortSignal): Promise<void>;
}

type Claim = (options: EventMailOptions, now: Date, until: Date, signal: AbortSignal) => Promise<DueMail | undefined>;

const dueEvents: Claim = async ({ outbox }, now, until, signal) => {
  const due = await outbox.claim(now, until, signal);
  if (!due) return undefined;
  const { user, events, total, upTo, attempts } = due;
  // With a time: after a restore, other events have the same ids (event-deliveries.ts).
  const key = `events-${user}-${upTo}-${(events[0]?.at ?? 0).toString(36)}`;
  return {
    ...{ user, attempts, key, words: eventMailWords(events, total) },
    about: { user, events: total },
    done: (...args) => outbox.done(due, ...args),
    postpone: (...args) => outbox.postpone(user, ...args),
  };
};

const dueNotice: Claim = async ({ notices }, now, until, signal) => {
  const due = await notices.claim(now, until, signal);
  if (!due) return undefined;
  const { webhook, owner: user, since, attempts } = due;
  return {
    ...{ user, attempts, key: `${webhook}-${since}`, words: webhookMailWords(due) },
    about: { user, webhook },
    done: (_now, _failure, always) => notices.done(due, always),
    postpone: (next, counted, _failure, always) => notices.postpone(due, next, counted, always),
  };
};

/** Sends mails until none is due or the mail server is unreachable. Returns how many were sent. */
export async function sendDueEventMails(options: EventMailOptions, signal: AbortSignal): Promise<number> {
  const { outbox, clock, counts } = options;
  await outbox.collect(new Date(clock.now()), signal);
  let sent = 0;
  let isAway = false;
  for (const claim of [dueEvents, dueNotice])
    while (!isAway) {
      const now = clock.now();
      const due = await claim(options, new Date(now), new Date(now + CLAIM_MS), signal);
      if (!due) break;
      const result = await trySend(options, due, signal);
      counts.sent.inc({ result: result === 'away' ? 'retry' : result });
      if (result === 'sent') sent++;
      isAway = result === 'away';
    }
  counts.waiting.set({}, await outbox.waiting(signal));
  return sent;
}

async function trySend(options: EventMailOptions, due: DueMail, signal: AbortSignal): Promise<Result> {
  const { mailer, accounts, clock, log, retry, random, from, replyTo } = options;
  const { user, attempts, key, words } = due;
  const about = { actor: 'eventMail', ...due.about };
  let failure: string | undefined;
  try {
    const address = (await accounts.find([user], signal)).get(user)?.email ?? '';
    if (!isEmail(address)) throw new Failure('rejected', 'the user has no email address');
    const to = [address] as const;
    const messageId = `<${key}@${from.slice(from.lastIndexOf('@') + 1)}>`;
    const date = new Date(clock.now());
    await mailer.send({ ...words, messageId, date, from, replyTo, to, cc: [] }, signal);
  } catch (error) {
    if (signal.aborted || kindOf(error) === 'aborted') throw error;
    failure = messageOf(error);
    const next = afterFailure(retry, attempts - 1, error, random);
    if (next.kind === 'again') {
      log.warn({ ...about, err: failure, againMs: next.delayMs }, 'sending a mail about events failed; retrying later');
      await due.postpone(new Date(clock.now() + next.delayMs), next.countsAttempt, failure, signal);
      return error instanceof Failure && error.unreachable ? 'away' : 'retry';
    }
    log.warn({ ...about, err: failure }, 'mail about events dropped');
  }
  // Otherwise it would be sent again. The first attempt runs even if the signal has aborted.
  const { signal: always } = new AbortController();
  const record = () => due.done(new Date(clock.now()), failure, always);
  await retrying(RETRIES.mailRecord, clock, record, signal, random);
  if (failure === undefined) log.info(about, 'mail about events sent');
  return failure === undefined ? 'sent' : 'dropped';
}
