import { randomFillSync } from 'node:crypto';
import t, { type Test } from 'tap';
import { PostgresDatasetEvents } from '../../../../engine/adapters/datasets/dataset-events-postgres.ts';
import type { Sql } from '../../../../engine/adapters/postgres/postgres.ts';
import { EventDeliveries } from '../../../../engine/adapters/webhooks/event-deliveries.ts';
import { PostgresWebhookNotices } from '../../../../engine/adapters/webhooks/webhook-notices-postgres.ts';
import { PostgresWebhookQueue } from '../../../../engine/adapters/webhooks/webhook-queue-postgres.ts';
import { PostgresWebhooks } from '../../../../engine/adapters/webhooks/webhooks-postgres.ts';
import type { DatasetEventKind } from '../../../../engine/model/dataset-event.ts';
import type { DatasetId, Tenant, UserId } from '../../../../engine/model/ids.ts';
import {
  newWebhookId,
  newWebhookSecret,
  tenantOfWebhook,
  type WebhookId,
  type WebhookSecret,
} from '../../../../engine/model/webhook.ts';
import { eventBody, testBody } from '../../../../engine/model/webhook-message.ts';
import type { Webhook, WebhookClaim, WebhookOutcome } from '../../../../engine/ports/webhooks.ts';
import { eventView } from '../../../../http/installer/events/event-terms.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { livingProcess } from '../../../support/database.ts';
import { newDataset, newUser } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const events = new PostgresDatasetEvents(db);
const webhooks = new PostgresWebhooks(db, events);
const random = (bytes: Uint8Array<ArrayBuffer>) => randomFillSync(bytes);
const BEGIN = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const DAY_MS = 24 * 60 * MINUTE;
const LEASE_MS = 600_000;
let sources = 0;

/** Two processes, an owner, and nothing from other tests. */
async function setup(t: Test) {
  await db.query('truncate webhook cascade');
  const [one, two] = [await livingProcess(t, db), await livingProcess(t, db)];
  const queueOf = (id: number) =>
    new PostgresWebhookQueue(
      db,
      { id, connected: true, listen: () => () => undefined },
      {
        events: new EventDeliveries(db, events, (event) => eventBody(event, eventView)),
        leaseMs: LEASE_MS,
        forgetMs: DAY_MS,
      },
    );
  const [queue, other] = [queueOf(one.instance), queueOf(two.instance)];
  let nowMs = BEGIN;
  const owner = newUser();
  const now = (): Date => new Date(nowMs);
  const create = async (more: Partial<Parameters<typeof webhooks.create>[0]> = {}): Promise<Webhook> => {
    const secret = newWebhookSecret(random);
    const made = { id: newWebhookId(random), owner, url: 'https://a.example/', kinds: [], secret, ...more };
    const webhook = await webhooks.create(made, { most: 100, now: now() }, signal);
    if (!webhook) throw new Error('too many');
    return webhook;
  };
  const tell = async (kind: DatasetEventKind, of: UserId = owner, addressee?: UserId): Promise<DatasetId> => {
    const dataset = newDataset();
    const event = { kind, at: BEGIN, dataset, owner: of, detail: {}, source: `source ${sources++}` };
    await events.copy([{ ...event, ...(addressee === undefined ? {} : { addressee }) }], signal);
    return dataset;
  };
  /** Long enough after the last call that the journal is read. */
  const claim = (limit = 100, by = queue, withheld: readonly Tenant[] = []) => {
    nowMs += 1_000;
    return by.completeAndFetch([], { limit, withheld }, now(), signal);
  };
  const end = (ended: WebhookClaim, outcome: WebhookOutcome, by = queue) =>
    by.completeAndFetch([{ claim: ended, outcome }], { limit: 0 }, now(), signal);
  const states = async ({ id }: Webhook) =>
    (await webhooks.page(id, { limit: 100 }, signal)).map(({ state }) => state).toReversed();
  return {
    ...{ one, queue, other, owner, now, create, tell, claim, end, states },
    pass: (ms: number) => {
      nowMs += ms;
    },
    find: async ({ id }: Webhook) => webhooks.find(id, 'all', signal),
    delivered: (): WebhookOutcome => ({ kind: 'delivered', at: now(), status: 200 }),
    retry: (restMs = 0): WebhookOutcome => {
      const [at, due, rest] = [now(), new Date(nowMs + MINUTE), new Date(nowMs + restMs)];
      return { kind: 'retry', at, due, rest, status: 500, message: 'answered 500', countsAttempt: true };
    },
  };
}

/** What `work` gives when it begins while a change is written and not committed. */
async function meanwhile<Result>(change: (sql: Sql) => Promise<void>, work: () => Promise<Result>): Promise<Result> {
  const [written, waits] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const changing = db.transaction(async (sql) => {
    await change(sql);
    written.resolve();
    await waits.promise;
  }, signal);
  await written.promise;
  const working = work();
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  while ((await db.query(waiting)).length === 0);
  waits.resolve();
  await changing;
  return working;
}

const typesOf = (claims: readonly WebhookClaim[]): readonly unknown[] =>
  claims.map(({ message }) => (JSON.parse(message.body) as { type: string }).type);
const setsOf = (claims: readonly WebhookClaim[]): readonly unknown[] =>
  claims.map(({ message }) => (JSON.parse(message.body) as { data: { datasetId: string } }).data.datasetId);

t.test('each event becomes one delivery of each webhook that it concerns, whoever claims', async (t) => {
  const { create, tell, claim, owner, other, states } = await setup(t);
  await tell('accepted');
  const own = await create();
  const some = await create({ kinds: ['installed', 'failed'] });
  const every = await create({ owner: undefined });
  const stranger = newUser();
  const [a, b] = [await tell('accepted'), await tell('installed')];
  const c = await tell('installed', stranger);
  const d = await tell('shared', stranger, owner);
  await tell('access-requested', owner, stranger);
  const claims = [...(await claim(2)), ...(await claim(100, other)), ...(await claim())];
  const of = ({ id }: Webhook) => setsOf(claims.filter(({ webhook }) => webhook === id)).toSorted();
  t.strictSame(of(own), [a, b, d].toSorted());
  t.strictSame(of(some), [b]);
  // Four at a time, of the five.
  t.equal(of(every).length, 4);
  t.ok(of(every).includes(c));
  t.equal((await states(every)).length, 5);
  const ids = claims.filter(({ message }) => setsOf(claims).includes(b) && message.body.includes(b));
  t.equal(new Set(ids.map(({ message }) => message.id)).size, 1, 'one event has one id everywhere');
});

t.test('a webhook gets what happens after it was created, also when older events were not read yet', async (t) => {
  const { create, tell, claim } = await setup(t);
  const first = await create();
  const before = await tell('installed');
  const second = await create();
  const after = await tell('installed');
  const claims = await claim();
  const of = ({ id }: Webhook) => setsOf(claims.filter(({ webhook }) => webhook === id));
  t.strictSame(of(first), [before, after]);
  t.strictSame(of(second), [after]);
});

t.test('a webhook that is created when nobody has read events for long gets what comes', async (t) => {
  const { create, tell, claim } = await setup(t);
  await db.query(
    `insert into dataset_event (kind, dataset_id, owner_id) select 'installed', 'old', 1 from generate_series(1, 20001)`,
  );
  await create({ owner: undefined });
  const dataset = await tell('installed');
  t.strictSame(setsOf(await claim()), [dataset]);
});

t.test('events that concern no webhook do not hold up those behind them', async (t) => {
  const { create, tell, queue, now, pass } = await setup(t);
  await create();
  await db.query(
    `insert into dataset_event (kind, dataset_id, owner_id) select 'installed', 'other', 1 from generate_series(1, 1000)`,
  );
  const dataset = await tell('installed');
  let woken = 0;
  queue.watch(() => void woken++);
  const claims: WebhookClaim[] = [];
  pass(1_000);
  for (let calls = 0; calls <= woken; calls++)
    claims.push(...(await queue.completeAndFetch([], { limit: 9 }, now(), signal)));
  t.strictSame([setsOf(claims), woken], [[dataset], 2]);
});

t.test('of many processes that read the same events, each event is delivered once', async (t) => {
  const { create, tell, claim, other, states } = await setup(t);
  const webhook = await create();
  await Promise.all(Array.from({ length: 20 }, () => tell('installed')));
  await Promise.all(Array.from({ length: 8 }, (_, i) => claim(1, i % 2 === 0 ? undefined : other)));
  t.equal((await states(webhook)).length, 20);
});

t.test('what failed is due again later, with the same id and a signature for each secret', async (t) => {
  const { create, tell, claim, end, pass, retry, delivered, find, now } = await setup(t);
  const [first, next] = [newWebhookSecret(random), newWebhookSecret(random)];
  const webhook = await create({ secret: first });
  await tell('installed');
  const [claimed] = await claim();
  if (!claimed) throw new Error('nothing claimed');
  t.match(claimed, { attempt: 1, failed: 0, failedInTurn: 0, secrets: [first], url: 'https://a.example/' });
  t.strictSame(typesOf([claimed]), ['dataset.installed']);
  await end(claimed, retry());
  t.match(await find(webhook), { last: { delivered: false, status: 500, message: 'answered 500' } });
  t.strictSame(await claim(), [], 'not due');
  const change = { secret: { next, previousUntil: new Date(now().getTime() + 2 * MINUTE) } };
  await webhooks.change(webhook.id, 'all', change, now(), signal);
  pass(MINUTE);
  const [again] = await claim();
  if (!again) throw new Error('nothing claimed');
  t.match(again, { attempt: 2, failed: 1, failedInTurn: 1, secrets: [next, first], message: claimed.message });
  t.ok(again.failingSince);
  await end(claimed, delivered());
  t.match(await webhooks.page(webhook.id, { limit: 1 }, signal), [{ state: 'running' }], 'a late outcome is ignored');
  await end(again, delivered());
  const [listed] = await webhooks.page(webhook.id, { limit: 1 }, signal);
  t.match(listed, { state: 'delivered', attempts: 1, status: 200, kind: 'installed', messageId: claimed.message.id });
  t.match(await find(webhook), { last: { delivered: true, status: 200 } });
  pass(2 * MINUTE);
  await tell('installed');
  const [last] = await claim();
  if (!last) throw new Error('nothing claimed');
  t.match(last, { secrets: [next], failedInTurn: 0, failingSince: undefined });
  await end(last, delivered());
  const [row] = await db.query('select previous_secret from webhook where id = $1', [webhook.id]);
  t.strictSame(row, { previous_secret: null }, 'it is not kept for longer than it is valid');
});

t.test('a webhook whose last attempt failed rests, then has one delivery at a time; others go on', async (t) => {
  const { create, tell, claim, end, pass, retry, delivered } = await setup(t);
  const failing = await create();
  const sound = await create({ owner: undefined });
  for (let i = 0; i < 6; i++) await tell('installed');
  const of = (claims: readonly WebhookClaim[], { id }: Webhook) => claims.filter(({ webhook }) => webhook === id);
  const first = await claim();
  t.equal(of(first, failing).length, 4);
  t.equal(of(first, sound).length, 4);
  for (const one of of(first, failing)) await end(one, retry(MINUTE));
  for (const one of of(first, sound)) await end(one, delivered());
  const second = await claim();
  t.equal(of(second, failing).length, 0, 'it rests');
  t.equal(of(second, sound).length, 2);
  pass(MINUTE);
  const [probe, ...rest] = await claim();
  t.match([probe?.webhook, rest], [failing.id, []]);
  t.strictSame(await claim(), [], 'one at a time');
  if (probe) await end(probe, delivered());
  t.equal((await claim()).length, 4, 'it has come back');
});

t.test('failures of a delivery long ago do not count against the next one', async (t) => {
  const { create, tell, claim, end, pass, retry, now } = await setup(t);
  const fail = async (): Promise<WebhookClaim> => {
    await tell('installed');
    const [claimed] = await claim();
    if (!claimed) throw new Error('nothing claimed');
    await end(claimed, {
      ...retry(),
      kind: 'undelivered',
      at: now(),
      rest: now(),
      status: 500,
      message: 'answered 500',
    });
    return claimed;
  };
  await create();
  await fail();
  const begun = now();
  pass(DAY_MS - MINUTE);
  t.strictSame((await fail()).failingSince, begun);
  pass(DAY_MS - MINUTE);
  t.strictSame((await fail()).failingSince, begun, 'there were attempts all the time');
  pass(DAY_MS + MINUTE);
  t.equal((await fail()).failingSince, undefined);
  const again = now();
  t.strictSame((await fail()).failingSince, again);
});

t.test('webhooks take turns, and withheld owners wait', async (t) => {
  const { create, tell, claim, owner } = await setup(t);
  const [crowded, quiet] = [await create(), await create({ owner: newUser() })];
  for (let i = 0; i < 5; i++) await tell('installed');
  await tell('installed', quiet.owner);
  t.strictSame((await claim(2)).map(({ webhook }) => webhook).toSorted(), [crowded.id, quiet.id].toSorted());
  t.strictSame(await claim(9, undefined, [tenantOfWebhook(owner)]), []);
  t.equal((await claim(9)).length, 3);
});

t.test('a delivery of a process that died, or that was held too long, is sent again', async (t) => {
  const { create, tell, claim, end, other, one, delivered, states } = await setup(t);
  const webhook = await create();
  await tell('installed');
  const [lost] = await claim();
  t.strictSame(await claim(9, other), []);
  await one.die();
  const [again] = await claim(9, other);
  if (!lost || !again) throw new Error('nothing claimed');
  t.match(again, { number: lost.number, attempt: 2, failed: 0, message: lost.message });
  await db.query("update webhook_delivery set lease_until = now() - interval '1 second'");
  const [third] = await claim(9, other);
  if (!third) throw new Error('nothing claimed');
  t.equal(third.attempt, 3);
  await end(again, delivered(), other);
  t.strictSame(await states(webhook), ['running']);
  await end(third, { kind: 'again' }, other);
  t.strictSame(await states(webhook), ['queued']);
});

t.test('a webhook that is disabled gets nothing, also not what happened meanwhile', async (t) => {
  const { create, tell, claim, end, now, states, find, delivered } = await setup(t);
  const webhook = await create();
  for (let i = 0; i < 6; i++) await tell('installed');
  const [gone, running] = await claim();
  if (!gone || !running) throw new Error('nothing claimed');
  const over = { kind: 'undelivered', at: now(), rest: now(), status: 410, message: 'answered 410' } as const;
  await end(gone, { ...over, disable: 'the receiver answered 410 Gone' });
  t.match(await find(webhook), { state: 'disabled', reason: 'the receiver answered 410 Gone' });
  t.strictSame((await states(webhook)).toSorted(), ['dead', 'dead', 'dead', 'running', 'running', 'running']);
  await end(running, { ...over, kind: 'retry', due: now(), countsAttempt: true });
  t.strictSame((await states(webhook)).filter((state) => state === 'dead').length, 4, 'it is not retried');
  await tell('installed');
  t.strictSame(await claim(), []);
  const active = { state: { is: 'active' } } as const;
  t.match(await webhooks.change(webhook.id, 'all', active, now(), signal), { state: 'active', reason: undefined });
  const dataset = await tell('installed');
  const claims = await claim();
  t.strictSame(setsOf(claims), [dataset]);
  if (claims[0]) await end(claims[0], delivered());
  const off = { state: { is: 'disabled', reason: 'by its owner' } } as const;
  t.match(await webhooks.change(webhook.id, 'all', off, now(), signal), { state: 'disabled', reason: 'by its owner' });
});

t.test('a delivery that comes back after its webhook was disabled is dead', async (t) => {
  const { create, tell, claim, end, now, states, one, other } = await setup(t);
  const webhook = await create();
  await tell('installed');
  await tell('installed');
  const [stopped] = await claim();
  if (!stopped) throw new Error('nothing claimed');
  const off = { state: { is: 'disabled', reason: 'by its owner' } } as const;
  await webhooks.change(webhook.id, 'all', off, now(), signal);
  await end(stopped, { kind: 'again' });
  await one.die();
  t.strictSame(await claim(9, other), []);
  t.strictSame(await claim(9, other), []);
  t.strictSame(await states(webhook), ['dead', 'dead']);
});

t.test('a webhook that is removed or disabled while deliveries are made gets none', async (t) => {
  const { create, tell, claim, states } = await setup(t);
  const [removed, disabled, sound] = [await create(), await create(), await create()];
  const dataset = await tell('installed');
  const claims = await meanwhile(
    async (sql) => {
      await sql.query('delete from webhook where id = $1', [removed.id]);
      await sql.query("update webhook set state = 'disabled', reason = 'by its owner' where id = $1", [disabled.id]);
    },
    () => claim(),
  );
  t.strictSame(setsOf(claims), [dataset]);
  t.strictSame(await claim(), []);
  t.strictSame([await states(disabled), await states(sound)], [['dead'], ['running']]);
});

t.test('a webhook for which too much waits is disabled', async (t) => {
  const { create, tell, claim, find, states, now } = await setup(t);
  const webhook = await create();
  await db.query(
    `insert into webhook_delivery (webhook_id, message_id, position, kind, body, run_at, created)
     select $1, n::text, n, 'installed', '{}', 'infinity', now() from generate_series(1, 10000) n`,
    [webhook.id],
  );
  await tell('installed');
  t.strictSame(await claim(), []);
  t.match(await find(webhook), { state: 'disabled', reason: 'more than 10000 deliveries were waiting' });
  t.match(await new PostgresWebhookNotices(db).claim(now(), now(), signal), { webhook: webhook.id });
  t.ok((await states(webhook)).every((state) => state === 'dead'));
});

t.test('the owner is told of a webhook that the service has disabled, until it is activated', async (t) => {
  const { create, tell, claim, end, now, pass } = await setup(t);
  const notices = new PostgresWebhookNotices(db);
  const due = () => notices.claim(now(), new Date(now().getTime() + MINUTE), signal);
  const [gone, shared, own] = [
    await create(),
    await create({ owner: undefined }),
    await create({ kinds: ['deleted'] }),
  ];
  const off = { state: { is: 'disabled', reason: 'by its owner' } } as const;
  const on = { state: { is: 'active' } } as const;
  const over = { kind: 'undelivered', at: now(), rest: now(), status: 410, message: 'answered 410' } as const;
  const disable = async (): Promise<void> => {
    await tell('installed');
    for (const ended of await claim()) await end(ended, { ...over, disable: 'the receiver answered 410 Gone' });
  };
  await webhooks.change(own.id, 'all', off, now(), signal);
  await disable();
  t.match(await webhooks.find(shared.id, 'all', signal), { state: 'disabled' });
  const first = await due();
  if (!first) throw new Error('nothing due');
  t.match(first, { webhook: gone.id, owner: gone.owner, url: gone.url, reason: /410 Gone/, attempts: 1 });
  t.equal(await due(), undefined, 'claimed, of administrators, or by its owner');
  pass(MINUTE);
  t.match(await due(), { webhook: gone.id, attempts: 2 }, 'its process died');
  await notices.postpone(first, now(), false, signal);
  t.match(await due(), { attempts: 2 });
  await notices.postpone(first, now(), true, signal);
  await webhooks.change(gone.id, 'all', on, now(), signal);
  t.equal(await due(), undefined, 'it is active again');
  await disable();
  await notices.done(first, signal);
  const second = await due();
  if (!second) throw new Error('nothing due');
  t.not(second.since, first.since);
  t.equal(second.attempts, 1);
  await notices.done(second, signal);
  pass(MINUTE);
  t.equal(await due(), undefined);
});

t.test('one test message at a time is sent', async (t) => {
  const { create, claim, end, delivered, now } = await setup(t);
  const { id } = await create();
  const test = () => webhooks.queueTest(id, { id: 'msg_test_1', body: testBody(id, BEGIN) }, now(), signal);
  t.equal(await test(), 'queued');
  t.equal(await test(), 'waiting');
  const [claimed] = await claim();
  if (!claimed) throw new Error('nothing claimed');
  t.match(claimed, { kind: 'webhook.test', message: { id: 'msg_test_1' } });
  t.equal(await test(), 'waiting');
  await end(claimed, delivered());
  t.equal(await test(), 'queued');
  await webhooks.change(id, 'all', { state: { is: 'disabled', reason: 'x' } }, now(), signal);
  t.equal(await test(), 'disabled');
});

t.test('webhooks are seen by their owner and by administrators, in pages', async (t) => {
  const { create, owner, now } = await setup(t);
  const made = [await create(), await create(), await create()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const shared = await create({ owner: undefined });
  const [stranger, ids] = [newUser(), (found: readonly Webhook[]) => found.map(({ id }) => id)];
  const [first, second, third] = made;
  if (!first || !second || !third) throw new Error('not made');
  t.strictSame(await webhooks.list(owner, { limit: 2 }, signal), [first, second]);
  t.strictSame(await webhooks.list(owner, { limit: 2, after: second.id }, signal), [third]);
  t.strictSame(ids(await webhooks.list('all', { limit: 9 }, signal)), ids([...made, shared]).toSorted());
  t.strictSame(await webhooks.list(stranger, { limit: 9 }, signal), []);
  t.strictSame(await webhooks.find(first.id, owner, signal), first);
  t.equal(await webhooks.find(first.id, stranger, signal), undefined);
  t.equal(await webhooks.find(shared.id, owner, signal), undefined);
  t.equal(await webhooks.change(first.id, stranger, { url: 'https://b.example/' }, now(), signal), undefined);
  const change = { url: 'https://b.example/', kinds: ['failed'] };
  t.strictSame(await webhooks.change(first.id, owner, change, now(), signal), { ...first, ...change });
  t.equal(await webhooks.remove(first.id, stranger, signal), false);
  t.equal(await webhooks.remove(first.id, owner, signal), true);
  t.equal(await webhooks.remove(first.id, owner, signal), false);
});

t.test('an owner has no more webhooks than are allowed', async (t) => {
  const { owner, now } = await setup(t);
  const create = async (of: UserId | undefined): Promise<boolean> => {
    const secret: WebhookSecret = newWebhookSecret(random);
    const id: WebhookId = newWebhookId(random);
    const made = { id, owner: of, url: 'https://a.example/', kinds: [], secret };
    return (await webhooks.create(made, { most: 2, now: now() }, signal)) !== undefined;
  };
  for (const one of [owner, undefined]) {
    t.strictSame([await create(one), await create(one), await create(one)], [true, true, false]);
  }
});

t.test('of creations at the same time, no more succeed than are allowed', async (t) => {
  const { owner, now } = await setup(t);
  const secret = newWebhookSecret(random);
  for (const one of [owner, undefined]) {
    const made = () => ({ id: newWebhookId(random), owner: one, url: 'https://a.example/', kinds: [], secret });
    const results = await Promise.all(
      Array.from({ length: 12 }, () => webhooks.create(made(), { most: 2, now: now() }, signal)),
    );
    t.equal(results.filter((webhook) => webhook !== undefined).length, 2);
  }
});

t.test('an event that has the id of one before a restore is another message', async (t) => {
  const { create, claim, end, delivered } = await setup(t);
  await create();
  const tellAt = async (at: number): Promise<WebhookClaim | undefined> => {
    const event = { kind: 'installed', dataset: newDataset(), owner: newUser(), detail: {} } as const;
    const [addressee] = await owners();
    if (addressee === undefined) throw new Error('there is no webhook');
    await events.copy([{ ...event, at, addressee, source: `restored ${sources++}` }], signal);
    return (await claim())[0];
  };
  const owners = async () =>
    (await db.query<{ owner: UserId }>('select owner_id::text as owner from webhook')).map((row) => row.owner);
  const place =
    "select last, (select position from event_reader where name = 'webhooks') as read from dataset_event_place";
  const [backup] = await db.query<{ last: number; read: number }>(place);
  const lost = await tellAt(BEGIN);
  await end(lost as WebhookClaim, delivered());
  await db.query('delete from webhook_delivery');
  await db.query('delete from dataset_event where position > $1', [backup?.last]);
  await db.query('update dataset_event_place set last = $1', [backup?.last]);
  await db.query(`update event_reader set position = $1 where name = 'webhooks'`, [backup?.read]);
  const next = await tellAt(BEGIN + MINUTE);
  const idOf = (claimed: WebhookClaim | undefined) => JSON.parse(claimed?.message.body ?? '').data.id;
  t.equal(idOf(next), idOf(lost), 'the restored database counts on from the backup');
  t.not(next?.message.id, lost?.message.id);
});

t.test('deliveries are listed newest first, and dropped a while after their end', async (t) => {
  const { create, tell, claim, end, delivered, now } = await setup(t);
  const { id } = await create();
  for (let i = 0; i < 3; i++) await tell('installed');
  const [first] = await claim();
  if (first) await end(first, delivered());
  const page = await webhooks.page(id, { limit: 2 }, signal);
  t.equal(page.length, 2);
  const rest = await webhooks.page(id, { limit: 2, before: page[1]?.number ?? 0 }, signal);
  t.match(rest, [{ state: 'delivered', due: undefined, ended: now() }]);
  t.equal(await webhooks.dropBefore(now().getTime(), signal), 0);
  t.equal(await webhooks.dropBefore(now().getTime() + 1, signal), 1);
  t.equal((await webhooks.page(id, { limit: 9 }, signal)).length, 2);
});
