// Mails about events with the tables of the cache database.

import t from 'tap';
import { type EventMailOptions, eventMailMetrics, sendDueEventMails } from '../../../actors/daemons/event-mail.ts';
import { PostgresCatalog } from '../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetEvents } from '../../../engine/adapters/datasets/dataset-events-postgres.ts';
import { PostgresEventMails } from '../../../engine/adapters/mail/event-mails-postgres.ts';
import { PostgresWebhookNotices } from '../../../engine/adapters/webhooks/webhook-notices-postgres.ts';
import type { DatasetEventKind } from '../../../engine/model/dataset-event.ts';
import type { MailedKind } from '../../../engine/model/event-mail.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import { rejected, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { FakeMailer } from '../../fakes/fake-mailer.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { cacheDatabase, grantLease } from '../../support/cache-database.ts';
import { metadataOf, newDataset, newUser } from '../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const events = new PostgresDatasetEvents(db);
const MINUTE = 60_000;
const RETRY = { attempts: 2, baseMs: 5 * MINUTE, maxMs: 60 * MINUTE };
let sources = 0;

async function setup() {
  await db.query('truncate event_mail, webhook cascade');
  const clock = new VirtualClock();
  const mailer = new FakeMailer();
  const metrics = new Metrics();
  const outbox = new PostgresEventMails(db, events);
  const nameless = new Set<UserId>();
  const options: EventMailOptions = {
    notices: new PostgresWebhookNotices(db),
    ...{ outbox, mailer, clock, metrics, retry: RETRY, log: silentLogger(), random: () => 0 },
    ...{ from: 'service@site.example', replyTo: undefined, counts: eventMailMetrics(metrics) },
    accounts: {
      find: async (users) =>
        new Map(
          users
            .filter((user) => !nameless.has(user))
            .map((userId) => {
              const names = { firstName: '', lastName: '', affiliation: '' };
              return [userId, { userId, ...names, email: `u${userId}@site.example` }] as const;
            }),
        ),
    },
  };
  const want = async (...kinds: MailedKind[]): Promise<UserId> => {
    const user = newUser();
    await outbox.set(user, kinds, signal);
    return user;
  };
  const tell = (kind: DatasetEventKind, owner: UserId, addressee?: UserId, dataset = newDataset()) =>
    events.copy(
      [
        {
          ...{ kind, at: clock.now(), dataset, owner, detail: {}, source: `source ${sources++}` },
          ...(addressee === undefined ? {} : { addressee }),
        },
      ],
      signal,
    );
  const after = async (ms: number): Promise<readonly string[]> => {
    await clock.advance(ms);
    const before = mailer.taken.length;
    await sendDueEventMails(options, signal);
    return mailer.taken.slice(before).map(({ to, subject }) => `${to}: ${subject.replace(/Dataset \w+/, 'Dataset')}`);
  };
  return { mailer, outbox, metrics, nameless, want, tell, after };
}

t.test('only who wants mails gets them, about the kinds that were asked for', async (t) => {
  const { want, tell, after, outbox } = await setup();
  const [one, other] = [await want('installed', 'shared'), await want('failed')];
  const stranger = newUser();
  await tell('installed', one);
  await tell('accepted', one);
  await tell('installed', other);
  await tell('installed', stranger);
  t.strictSame(await after(1_000), [], 'more may come');
  t.strictSame(await after(2 * MINUTE), [`u${one}@site.example: Dataset is installed`]);
  await tell('shared', stranger, one);
  t.strictSame(await after(1_000), []);
  t.strictSame(await after(15 * MINUTE), [`u${one}@site.example: Dataset was shared with you`]);
  t.strictSame(await outbox.kinds(one, signal), ['installed', 'shared']);
  await tell('installed', one);
  await after(1_000);
  await outbox.set(one, [], signal);
  t.strictSame(await outbox.kinds(one, signal), []);
  t.strictSame(await after(60 * MINUTE), [], 'what was to be told is dropped');
});

t.test('a user who uploads much gets a mail each quarter of an hour, and no event twice', async (t) => {
  const { want, tell, after, mailer } = await setup();
  const user = await want('accepted', 'installed');
  for (let i = 0; i < 70; i++) await tell('accepted', user);
  await after(1_000);
  t.strictSame(await after(2 * MINUTE), [`u${user}@site.example: 70 events of your datasets`]);
  t.match(mailer.taken.at(-1)?.text, /And 20 more\./);
  for (let i = 0; i < 3; i++) await tell('installed', user);
  for (let minute = 1; minute < 15; minute++) t.strictSame(await after(MINUTE), []);
  t.strictSame(await after(MINUTE), [`u${user}@site.example: 3 events of your datasets`]);
  t.strictSame(await after(60 * MINUTE), []);
  t.equal(new Set(mailer.taken.map(({ messageId }) => messageId)).size, 2);
});

t.test('a mail that fails is sent later, with what came meanwhile, and dropped in the end', async (t) => {
  const { want, tell, after, mailer, outbox, metrics } = await setup();
  const user = await want('installed');
  mailer.away = true;
  await tell('installed', user);
  await after(1_000);
  for (let i = 0; i < 5; i++) t.strictSame(await after(20 * MINUTE), [], 'the server is away: no attempt is used up');
  t.equal(await outbox.waiting(signal), 1);
  mailer.away = false;
  mailer.failures.push(transient('busy'));
  await tell('installed', user);
  t.strictSame(await after(20 * MINUTE), []);
  t.strictSame(await after(20 * MINUTE), [`u${user}@site.example: 2 events of your datasets`]);
  await tell('installed', user);
  mailer.failures.push(transient('busy'), transient('busy'));
  for (let i = 0; i < 3; i++) t.strictSame(await after(20 * MINUTE), []);
  t.equal(await outbox.waiting(signal), 0, 'given up');
  await tell('installed', user);
  mailer.failures.push(rejected('no such mailbox'));
  for (let i = 0; i < 3; i++) t.strictSame(await after(20 * MINUTE), []);
  const text = await metrics.text();
  t.match(text, /longshore_event_mails_total\{result="dropped"\} 2/);
  t.match(text, /longshore_event_mails_total\{result="sent"\} 1/);
});

t.test('a user without an address gets nothing, and others do', async (t) => {
  const { want, tell, after, nameless } = await setup();
  const [absent, present] = [await want('installed'), await want('installed')];
  nameless.add(absent);
  for (const user of [absent, present]) await tell('installed', user);
  await after(1_000);
  t.strictSame(await after(2 * MINUTE), [`u${present}@site.example: Dataset is installed`]);
});

t.test(
  'a user is told of what happens after the wish, and of what comes while a mail is sent in the next one',
  async (t) => {
    const { want, tell, after, mailer, outbox } = await setup();
    const [early, late] = [await want('installed'), newUser()];
    await tell('installed', late);
    await outbox.set(late, ['installed'], signal);
    await tell('installed', early);
    await after(1_000);
    const send = mailer.send.bind(mailer);
    mailer.send = async (mail, until) => {
      mailer.send = send;
      await tell('installed', early);
      await outbox.collect(new Date(Date.UTC(2026, 0, 2)), signal);
      return send(mail, until);
    };
    const one = `u${early}@site.example: Dataset is installed`;
    t.strictSame(await after(2 * MINUTE), [one]);
    t.strictSame(await after(16 * MINUTE), [one]);
    t.strictSame(await after(60 * MINUTE), []);
  },
);

t.test('a mail names a dataset only to users who may see it when the mail is sent', async (t) => {
  const { want, tell, after } = await setup();
  const [owner, given, former] = [await want('installed'), await want('installed'), await want('installed')];
  const at = { owner, dataset: newDataset() };
  const lease = await grantLease(db, at.dataset);
  const shares = [given, former].map((recipient) => ({ recipient, offer: 'grant', receipt: 'accept' }) as const);
  const metadata = metadataOf(owner, { visibility: 'private', name: 'Blood stages' });
  await new PostgresCatalog(db).register(at, metadata, [{ set: 'shares', shares }], lease, signal);
  await tell('installed', owner, undefined, at.dataset);
  await after(1_000);
  await db.query("update dataset_share set offer = 'revoke' where recipient_id = $1", [former]);
  t.same(
    new Set(await after(2 * MINUTE)),
    new Set([
      `u${owner}@site.example: "Blood stages" is installed`,
      `u${given}@site.example: "Blood stages" is installed`,
      `u${former}@site.example: Dataset is installed`,
    ]),
  );
});

t.test('a user who gave mails up and wants some again while one could not be sent gets no empty mail', async (t) => {
  const { want, tell, after, mailer, outbox } = await setup();
  const user = await want('installed');
  await tell('installed', user);
  await after(1_000);
  mailer.send = async () => {
    delete (mailer as { send?: unknown }).send;
    await outbox.set(user, [], signal);
    await outbox.set(user, ['installed'], signal);
    throw transient('busy');
  };
  await after(2 * MINUTE);
  t.strictSame(await after(60 * MINUTE), []);
  await tell('installed', user);
  await after(1_000);
  t.strictSame(await after(2 * MINUTE), [`u${user}@site.example: Dataset is installed`]);
});

t.test('events of a user who gives mails up while they are collected are not kept', async (t) => {
  const { want, tell, after, outbox } = await setup();
  const [gone, other] = [await want('installed'), await want('installed')];
  for (const user of [gone, other]) await tell('installed', user);
  const [written, waits] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const removing = db.transaction(async (sql) => {
    await sql.query('delete from event_mail where user_id = $1::numeric', [gone]);
    written.resolve();
    await waits.promise;
  }, signal);
  await written.promise;
  const collecting = outbox.collect(new Date(Date.UTC(2026, 0, 1)), signal);
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  while ((await db.query(waiting)).length === 0);
  waits.resolve();
  await removing;
  await collecting;
  t.strictSame(await after(60 * MINUTE), [`u${other}@site.example: Dataset is installed`]);
});

t.test('the owner of a webhook that was disabled is told, once, whatever mails the owner wants', async (t) => {
  const { after, mailer } = await setup();
  const owner = newUser();
  await db.query(
    `insert into webhook (id, owner_id, url, kinds, secret, state, reason, since, created, mail_due)
     values ('wh_1', $1::numeric, 'https://a.example/hook?key=abc', '{}', 'whsec_', 'disabled', 'answered <500>', 7, now(),
       '2026-01-01')`,
    [owner],
  );
  mailer.away = true;
  t.strictSame(await after(1_000), []);
  mailer.away = false;
  mailer.failures.push(transient('busy'));
  t.strictSame(await after(20 * MINUTE), []);
  t.strictSame(await after(20 * MINUTE), [`u${owner}@site.example: Your webhook was disabled`]);
  const [mail] = mailer.taken;
  t.equal(mail?.messageId, '<wh_1-7@site.example>');
  t.match(mail?.text, 'Your webhook to https://a.example/hook was disabled:\nanswered <500>\n');
  t.match(mail?.html, 'answered &lt;500&gt;');
  t.notMatch(`${mail?.text}${mail?.html}`, /abc|whsec/);
  t.strictSame(await after(60 * MINUTE), []);
});

t.test('of two processes, one collects an event and one sends the mail', async (t) => {
  const { want, tell, after, outbox, mailer } = await setup();
  const user = await want('installed');
  for (let i = 0; i < 10; i++) await tell('installed', user);
  const others = Array.from({ length: 4 }, () => new PostgresEventMails(db, events));
  const now = new Date(Date.UTC(2026, 0, 1));
  await Promise.all([outbox, ...others].map((one) => one.collect(now, signal)));
  const later = new Date(now.getTime() + 3 * MINUTE);
  const until = new Date(later.getTime() + MINUTE);
  const claims = await Promise.all(others.map((one) => one.claim(later, until, signal)));
  const [mail, ...more] = claims.filter((one) => one !== undefined);
  t.match([mail?.total, mail?.attempts, more], [10, 1, []]);
  t.match(await outbox.claim(until, new Date(until.getTime() + 1), signal), { attempts: 2 }, 'its process died');
  t.strictSame(await after(30 * MINUTE), [`u${user}@site.example: 10 events of your datasets`]);
  t.equal(mailer.taken.length, 1);
});
