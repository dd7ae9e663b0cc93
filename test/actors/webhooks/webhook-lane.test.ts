import t from 'tap';
import { deliver, settled } from '../../../actors/webhooks/webhook-lane.ts';
import type { Tenant } from '../../../engine/model/ids.ts';
import type { WebhookId, WebhookSecret } from '../../../engine/model/webhook.ts';
import type { PostResult, WebhookClaim, WebhookOutcome } from '../../../engine/ports/webhooks.ts';
import { aborted } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const signal = new AbortController().signal;
const clock = new VirtualClock();
const HOUR = 3_600_000;
const RETRY = { attempts: 3, baseMs: 5_000, maxMs: 6 * HOUR };
const claim: WebhookClaim = {
  webhook: 'wh_0' as WebhookId,
  tenant: 'user 1' as Tenant,
  url: 'https://receiver.example/hook?a=1',
  secrets: [`whsec_${Buffer.alloc(32, 1).toString('base64')}` as WebhookSecret],
  number: 7,
  kind: 'installed',
  message: { id: 'msg_7', body: '{}' },
  attempt: 1,
  failed: 0,
  failedInTurn: 0,
  failingSince: undefined,
  waitedMs: 0,
};
const at = (ms: number): Date => new Date(clock.now() + ms);
const now = at(0);

async function outcome(result: PostResult, more: Partial<WebhookClaim> = {}): Promise<WebhookOutcome> {
  const sender = { post: async () => result };
  const options = { sender, clock, log: silentLogger(), random: () => 0, retry: RETRY, disableAfterMs: 72 * HOUR };
  return deliver({ ...claim, ...more }, options, signal);
}
const answered = (status: number, more: Partial<WebhookClaim> = {}) => outcome({ kind: 'answered', status }, more);

t.test('any 2xx is a delivery', async (t) => {
  for (const status of [200, 202, 299]) t.strictSame(await answered(status), { kind: 'delivered', at: now, status });
});

t.test('anything else is retried until the attempts are used up', async (t) => {
  const end = { at: now, status: 500, message: 'answered 500', rest: at(5_000) };
  t.strictSame(await answered(500), { kind: 'retry', ...end, due: at(5_000), countsAttempt: true });
  t.match(await answered(500, { failed: 1 }), { kind: 'retry' });
  t.strictSame(await answered(500, { failed: 2 }), { kind: 'undelivered', ...end });
  t.match(await answered(199), { kind: 'retry' });
  t.match(await answered(302), { kind: 'retry', message: 'answered 302; redirects are not followed' });
  const away = await outcome({ kind: 'failed', message: 'no answer within 15000 ms' });
  t.match(away, { kind: 'retry', status: undefined, message: 'no answer within 15000 ms' });
});

t.test('a test message has one attempt', async (t) => {
  t.match(await answered(500, { kind: 'webhook.test' }), { kind: 'undelivered', disable: undefined });
});

t.test('delays grow with the attempts of the delivery, and rests with those of the subscription', async (t) => {
  const sender = { post: async () => ({ kind: 'answered', status: 500 }) as const };
  const retry = { ...RETRY, attempts: 16 };
  const options = { sender, clock, log: silentLogger(), random: () => 1, retry, disableAfterMs: 72 * HOUR };
  const tried = async (failed: number, failedInTurn: number) => {
    const end = await deliver({ ...claim, failed, failedInTurn }, options, signal);
    return end.kind === 'retry' ? [end.due.getTime() - clock.now(), end.rest.getTime() - clock.now()] : undefined;
  };
  t.strictSame(await tried(0, 0), [10_000, 10_000]);
  t.strictSame(await tried(3, 1), [80_000, 20_000]);
  t.strictSame(await tried(14, 40), [6 * HOUR, 300_000], 'a receiver that comes back waits five minutes at most');
});

t.test('a receiver that is gone, or has failed for days, is disabled', async (t) => {
  t.match(await answered(410), { kind: 'undelivered', disable: 'the receiver answered 410 Gone' });
  const since = at(-72 * HOUR);
  t.match(await answered(503, { failingSince: since }), {
    kind: 'undelivered',
    disable: `nothing could be delivered since ${since.toISOString()}; last: answered 503`,
  });
  t.match(await answered(503, { failingSince: at(1 - 72 * HOUR) }), { kind: 'retry' });
});

t.test('an attempt that broke counts, one that was aborted does not', async (t) => {
  const options = { clock, log: silentLogger(), random: () => 0, retry: RETRY, disableAfterMs: HOUR };
  t.match(settled(new TypeError('bug'), claim, options), { kind: 'retry', message: 'internal error' });
  t.match(settled(new TypeError('bug'), { ...claim, failed: 2 }, options), { kind: 'undelivered' });
  t.strictSame(settled(aborted('stop'), claim, options), { kind: 'again' });
});

t.test('an interrupted attempt rejects', async (t) => {
  const reason = aborted('the process stops');
  const sender = { post: () => Promise.reject(reason) };
  const options = { sender, clock, log: silentLogger(), random: () => 0, retry: RETRY, disableAfterMs: HOUR };
  await t.rejects(deliver(claim, options, signal), reason);
});
