// Sends the mails of the dataset access service, one at a time.
//   due      -> claimed: no other process sends it until the claim expires
//   claimed  -> gone (accepted by the server) | due again later, with back-off | dead (rejected, or attempts used up)
// A process that crashes while it sends leaves the mail claimed until the claim expires. The mail may then be sent twice, with
// the same Message-ID. If the database is unavailable after a mail was sent, we retry until the result is recorded.

import { addressKey, isEmail, type MailDraft } from '../../engine/model/access-mail.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { AccessCatalogue } from '../../engine/ports/access-datasets.ts';
import type { AccessProviders, Accounts, Profile } from '../../engine/ports/access-people.ts';
import type { Mail, Mailer, Outbox, QueuedMail } from '../../engine/ports/mail.ts';
import { Failure, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Counter, Gauge, Metrics } from '../../engine/runtime/metrics.ts';
import { afterFailure, type Random, RETRIES, type RetryPolicy, retrying } from '../../engine/runtime/retry.ts';
import { Timer, type TimerParts } from '../../engine/runtime/timer.ts';
import { type MailSite, mailWords } from './access-mail-text.ts';

export interface AccessMailOptions extends TimerParts {
  readonly outbox: Outbox;
  readonly mailer: Mailer;
  readonly catalogue: Pick<AccessCatalogue, 'find'>;
  readonly providers: Pick<AccessProviders, 'managers'>;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly site: MailSite;
  /** The sender for datasets that configure none of their own. */
  readonly from: string;
  readonly replyTo: string | undefined;
  readonly retry: RetryPolicy;
  readonly counts: AccessMailMetrics;
  readonly random: Random;
}

interface AccessMailMetrics {
  readonly sent: Counter<'result'>;
  readonly queued: Gauge<'state'>;
}

const PERIOD_MS = 2_000;
/** Longer than a mail server may take for one mail. */
const CLAIM_MS = 10 * 60_000;

export function accessMailMetrics(metrics: Metrics): AccessMailMetrics {
  const sent = metrics.counter('access_mails_total', 'Attempts to send a mail of dataset access, by outcome.', [
    'result',
  ]);
  // Start at zero so that the first increment is visible as an increase.
  for (const result of ['sent', 'retry', 'dead']) sent.inc({ result }, 0);
  return {
    sent,
    queued: metrics.gauge('access_mails', 'Dataset access mails that wait or failed permanently, by state.', ['state']),
  };
}

export const sendAccessMails = (options: AccessMailOptions): Timer<number> =>
  new Timer({
    ...options,
    name: 'accessMail',
    periodMs: PERIOD_MS,
    firstMs: 0,
    runOnce: (signal) => sendDue(options, signal),
  });

/** Sends mails until none is due or the mail server is unreachable. Returns how many were sent. */
export async function sendDue(options: AccessMailOptions, signal: AbortSignal): Promise<number> {
  const { outbox, clock, counts } = options;
  let taken = 0;
  for (;;) {
    const now = clock.now();
    const [mail] = await outbox.claim(new Date(now), new Date(now + CLAIM_MS), 1, signal);
    if (!mail) break;
    const outcome = await trySend(options, mail, signal);
    counts.sent.inc({ result: outcome === 'sent' || outcome === 'dead' ? outcome : 'retry' });
    if (outcome === 'sent') taken++;
    if (outcome === 'away') break;
  }
  const { waiting, dead } = await outbox.counts(signal);
  counts.queued.set({ state: 'waiting' }, waiting);
  counts.queued.set({ state: 'dead' }, dead);
  return taken;
}

async function trySend(
  options: AccessMailOptions,
  queued: QueuedMail,
  signal: AbortSignal,
): Promise<'sent' | 'retry' | 'away' | 'dead'> {
  const { outbox, mailer, clock, log, retry, random } = options;
  const about = { actor: 'accessMail', mail: queued.messageKey, template: queued.draft.template };
  try {
    const mail = await compose(options, queued, signal);
    const refused = mail ? await mailer.send(mail, signal) : [];
    if (!mail) log.warn(about, 'mail not sent: no recipient has an email address');
    if (refused.length > 0) log.warn({ ...about, refused }, 'the mail server rejected some recipients of a mail');
  } catch (error) {
    if (signal.aborted || kindOf(error) === 'aborted') throw error;
    const failure = messageOf(error);
    const next = afterFailure(retry, queued.attempts - 1, error, random);
    if (next.kind === 'give-up') {
      log.error({ ...about, kind: kindOf(error), err: failure }, 'mail failed permanently');
      await outbox.bury(queued.id, failure, signal);
      return 'dead';
    }
    log.warn({ ...about, err: failure, againMs: next.delayMs }, 'sending a mail failed; retrying later');
    await outbox.postpone(queued.id, new Date(clock.now() + next.delayMs), next.countsAttempt, failure, signal);
    return error instanceof Failure && error.unreachable ? 'away' : 'retry';
  }
  await recordSent(options, queued, signal);
  log.info(about, 'mail sent');
  return 'sent';
}

/**
 * A mail that was sent must not be sent again: retried until it is recorded. The first attempt runs even if the signal has
 * aborted.
 */
function recordSent(
  { outbox, clock, random }: AccessMailOptions,
  { id }: QueuedMail,
  signal: AbortSignal,
): Promise<void> {
  const { signal: always } = new AbortController();
  return retrying(RETRIES.mailRecord, clock, () => outbox.sent(id, always), signal, random);
}

/** Undefined when nobody could receive it. */
async function compose(
  options: AccessMailOptions,
  { draft, messageKey }: QueuedMail,
  signal: AbortSignal,
): Promise<Mail | undefined> {
  const { catalogue, site, from, replyTo, clock } = options;
  const dataset = await catalogue.find(draft.datasetId, signal);
  if (!dataset) throw new Failure('rejected', `dataset ${draft.datasetId} of the mail is not in the catalogue`);
  const { to, cc, person } = await recipients(options, draft, signal);
  const [first, ...rest] = to.length > 0 ? to : cc;
  if (first === undefined) return undefined;
  return {
    ...mailWords(draft, dataset, person, site),
    messageId: `<${messageKey}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    date: new Date(clock.now()),
    from: dataset.mailFrom === '' ? from : dataset.mailFrom,
    replyTo,
    to: [first, ...rest],
    cc: to.length > 0 ? cc : [],
  };
}

interface Recipients {
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly person: Profile | undefined;
}

async function recipients(
  { providers, accounts, site }: AccessMailOptions,
  draft: MailDraft,
  signal: AbortSignal,
): Promise<Recipients> {
  if (!('request' in draft)) return { to: [draft.email], cc: [], person: undefined };
  const managers = draft.template === 'edit-requester' ? [] : await providers.managers(draft.datasetId, signal);
  const asker = draft.request.userId;
  // The port limits the number of ids per call, so this takes two calls.
  const profiles = new Map([...(await accounts.find([asker], signal)), ...(await accounts.find(managers, signal))]);
  const addressOf = (user: UserId): string => profiles.get(user)?.email ?? '';
  const theirs = managers.map(addressOf);
  const support = site.supportEmail ?? '';
  const to = distinct(draft.template === 'edit-managers' ? [...theirs, support] : [addressOf(asker), support]);
  // A recipient in `to` is not repeated in `cc`.
  const cc = draft.template === 'edit-managers' ? [] : distinct([...to, ...theirs]).slice(to.length);
  return { to, cc, person: profiles.get(asker) };
}

/** Keeps valid single addresses only, whatever the accounts contain. Of duplicates, keeps the first. */
const distinct = (addresses: readonly string[]): readonly string[] =>
  [
    ...new Map(
      addresses
        .filter(isEmail)
        .toReversed()
        .map((address) => [addressKey(address) ?? address, address] as const),
    ).values(),
  ].toReversed();
