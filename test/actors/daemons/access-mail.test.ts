import t from 'tap';
import { type AccessMailOptions, accessMailMetrics, sendDue } from '../../../actors/daemons/access-mail.ts';
import { PostgresOutbox } from '../../../engine/adapters/access/outbox.ts';
import { PostgresAccessProviders } from '../../../engine/adapters/access/providers.ts';
import { PostgresAccounts } from '../../../engine/adapters/datasets/accounts-postgres.ts';
import { rejected, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { FakeMailer } from '../../fakes/fake-mailer.ts';
import { accessApp, enters, never, replace } from '../../http/access/access-app.ts';

const HOUR_MS = 3_600_000;
const RETRY = { attempts: 3, baseMs: 60_000, maxMs: HOUR_MS };

/** The service with a mailer that keeps what it takes, or fails as it is told to. */
async function setup(t: Parameters<typeof accessApp>[0], more: Partial<AccessMailOptions> = {}) {
  const app = await accessApp(t);
  for (const user of ['1', '2', '3', '40']) await app.call(user, 'GET', '/permissions');
  const mailer = new FakeMailer();
  const { taken, failures } = mailer;
  const metrics = new Metrics();
  const options: AccessMailOptions = {
    outbox: new PostgresOutbox(app.db),
    mailer,
    catalogue: app.catalogue,
    providers: new PostgresAccessProviders(app.db),
    accounts: new PostgresAccounts(app.cache),
    site: {
      siteUrl: 'https://site.example',
      registrationPath: '/r',
      applicationPath: '/a',
      supportEmail: 'help@site.example',
    },
    from: 'service@site.example',
    replyTo: 'help@site.example',
    retry: RETRY,
    counts: accessMailMetrics(metrics),
    clock: app.clock,
    log: silentLogger(),
    metrics,
    random: () => 0,
    ...more,
  };
  const run = () => sendDue(options, never);
  const patch = (who: string, path: string, value: unknown) =>
    app.call(who, 'PATCH', '/dataset-end-users/40-private', [replace(path, value)]);
  const rows = () => app.db.query('select attempts, dead, due, failure from outbox order by mail_id');
  return { app, taken, failures, metrics, run, patch, rows };
}

t.test('mails go out one by one, also when the database takes the table for one of a single row', async (t) => {
  const { app, taken, run, patch } = await setup(t);
  await enters(app, 40, 'private', {});
  await patch('2', '/approvalStatus', 'approved');
  // The planner compares the rows to be claimed with each row of so small a table.
  await app.db.query('analyze outbox');
  for (const word of ['denied', 'approved', 'denied']) await patch('2', '/approvalStatus', word);
  t.equal(await run(), 4);
  t.equal(taken.length, 4);
});

t.test('decisions go to the person and support with copies to managers, edits to both apart', async (t) => {
  const { app, taken, run, patch, rows } = await setup(t);
  await enters(app, 40, 'private', {});
  await patch('40', '/purpose', 'Other');
  await patch('2', '/approvalStatus', 'approved');
  await patch('2', '/approvalStatus', 'denied');
  t.equal(await run(), 4);
  t.equal(await run(), 0);
  t.strictSame(await rows(), [], 'what was taken is gone');
  const manager = 'u2@site.example';
  const asker = 'u40@site.example';
  t.strictSame(
    taken.map(({ to, cc, subject }) => ({ to, cc, subject })),
    [
      { to: [manager, 'help@site.example'], cc: [], subject: 'Study private: Access Request Update' },
      { to: [asker, 'help@site.example'], cc: [], subject: 'Study private: Access Request Update' },
      { to: [asker, 'help@site.example'], cc: [manager], subject: 'Study private: Access Request Approved' },
      { to: [asker, 'help@site.example'], cc: [manager], subject: 'Study private: Access Request Denied' },
    ],
  );
  t.match(taken[0], { from: 'service@site.example', replyTo: 'help@site.example' });
  t.match(taken[0]?.messageId, /^<[\da-f-]{36}@site\.example>$/);
  t.equal(new Set(taken.map(({ messageId }) => messageId)).size, 4);
});

t.test('an invitation goes to the address, and from the sender of the dataset', async (t) => {
  const { app, taken, run } = await setup(t);
  await app.db.query("update curated_dataset set mail_from = 'study@site.example' where dataset_id = 'private'");
  const body = { datasetId: 'private', isManager: false, email: 'New@lab.example' };
  await app.call('2', 'POST', '/dataset-providers', body);
  await run();
  t.match(taken, [{ to: ['New@lab.example'], cc: [], from: 'study@site.example' }]);
});

t.test('a server that is away does not use up attempts, and the same mail is sent when it is back', async (t) => {
  const { app, taken, failures, run, patch, rows } = await setup(t);
  await enters(app, 40, 'private', {});
  await patch('2', '/approvalStatus', 'approved');
  for (let i = 0; i < 5; i++) {
    failures.push(transient('refused', { unreachable: true }));
    t.equal(await run(), 0);
    t.match(await rows(), [{ attempts: 0, dead: false, failure: 'refused', due: new Date(app.clock.now() + 60_000) }]);
    t.equal(await run(), 0, 'not before it is due');
    await app.clock.advance(60_000);
  }
  t.equal(await run(), 1);
  t.equal(taken.length, 1);
});

t.test('a mail that is not taken waits longer and longer, and is given up after its attempts', async (t) => {
  const { app, failures, metrics, run, patch, rows } = await setup(t);
  await enters(app, 40, 'private', {});
  await patch('2', '/approvalStatus', 'approved');
  for (const attempts of [1, 2]) {
    failures.push(transient('later'));
    await run();
    t.match(await rows(), [{ attempts, dead: false }]);
    await app.clock.advance(HOUR_MS);
  }
  failures.push(transient('later'));
  await run();
  t.match(await rows(), [{ attempts: 3, dead: true, failure: 'later' }]);
  await app.clock.advance(24 * HOUR_MS);
  t.equal(await run(), 0, 'not again');
  const text = await metrics.text();
  for (const line of [
    'longshore_access_mails_total{result="retry"} 2',
    'longshore_access_mails_total{result="dead"} 1',
    'longshore_access_mails{state="dead"} 1',
    'longshore_access_mails{state="waiting"} 0',
  ])
    t.ok(text.includes(line), line);
  const outbox = new PostgresOutbox(app.db);
  t.equal(await outbox.retryDead(new Date(app.clock.now()), never), 1);
  t.equal(await run(), 1, 'an operator has it sent again');
  t.same(await rows(), []);
});

t.test('a mail that is refused is given up at once and does not keep others waiting', async (t) => {
  const { app, taken, failures, run, patch, rows } = await setup(t);
  await enters(app, 40, 'private', {});
  await patch('40', '/purpose', 'Other');
  failures.push(rejected('no such user'));
  t.equal(await run(), 1);
  t.equal(taken.length, 1);
  t.match(await rows(), [{ dead: true, failure: 'no such user' }]);
  const outbox = new PostgresOutbox(app.db);
  t.equal(await outbox.discardDead(never), 1);
  t.equal(await outbox.discardDead(never), 0);
  t.same(await rows(), []);
});

t.test('the mail of a process that died while it sent comes again with the same Message-ID', async (t) => {
  const { app, taken, run, patch } = await setup(t);
  await enters(app, 40, 'private', {});
  await patch('2', '/approvalStatus', 'approved');
  const now = app.clock.now();
  const [claimed] = await new PostgresOutbox(app.db).claim(new Date(now), new Date(now + 10 * 60_000), 1, never);
  t.equal(await run(), 0, 'it is claimed');
  await app.clock.advance(10 * 60_000);
  t.equal(await run(), 1);
  t.equal(taken[0]?.messageId, `<${claimed?.messageKey}@site.example>`);
});

t.test('two processes send each mail once', async (t) => {
  const { app, taken, run, patch } = await setup(t);
  await enters(app, 40, 'private', {});
  for (let i = 0; i < 10; i++) await patch('2', '/approvalStatus', i % 2 ? 'denied' : 'approved');
  await Promise.all([run(), run(), run()]);
  t.equal(taken.length, 10);
  t.equal(new Set(taken.map(({ messageId }) => messageId)).size, 10);
});

t.test('what the person and support cannot be told goes to those who would get a copy', async (t) => {
  const site = { siteUrl: undefined, registrationPath: '/', applicationPath: '/', supportEmail: undefined };
  const { app, taken, run } = await setup(t, { site });
  await enters(app, 55, 'private', {});
  await app.call('2', 'PATCH', '/dataset-end-users/55-private', [replace('/approvalStatus', 'denied')]);
  t.equal(await run(), 1);
  t.strictSame(
    taken.map(({ to, cc, subject }) => ({ to, cc, subject })),
    [{ to: ['u2@site.example'], cc: [], subject: 'Study private: Access Request Denied' }],
  );
});

t.test('nobody to write to is no failure', async (t) => {
  const site = { siteUrl: undefined, registrationPath: '/', applicationPath: '/', supportEmail: undefined };
  const { app, taken, run, rows } = await setup(t, { site });
  await app.db.query(
    'delete from invitation; alter table provider disable trigger provider_recorded; delete from provider',
  );
  await enters(app, 55, 'private', {});
  const path = '/dataset-end-users/55-private';
  await app.call('1', 'PATCH', path, [replace('/approvalStatus', 'denied')]);
  await run();
  t.strictSame([taken, await rows()], [[], []]);
});

t.test('a change that is refused queues nothing, one that is made queues its mails with it', async (t) => {
  const { app, patch, rows } = await setup(t);
  await enters(app, 40, 'private', {});
  await patch('2', '/approvalStatus', 'unrequested');
  t.equal((await rows()).length, 0);
  await app.db.query('alter table outbox add constraint nothing check (false) not valid');
  t.equal((await patch('2', '/approvalStatus', 'approved')).status, 500);
  await app.db.query('alter table outbox drop constraint nothing');
  t.match((await app.call('40', 'GET', '/dataset-end-users/40-private')).body, { approvalStatus: 'requested' });
  await patch('2', '/approvalStatus', 'approved');
  t.equal((await rows()).length, 1);
});

t.test(
  'a hundred and fifty edits of one request are two mails to each, the second an hour later with the newest text',
  async (t) => {
    const { app, taken, run, patch, rows } = await setup(t);
    await enters(app, 40, 'private', {});
    t.equal((await patch('40', '/purpose', 'first')).status, 204);
    t.equal(await run(), 2);
    for (let n = 1; n <= 150; n++) t.equal((await patch('40', '/purpose', `edit ${n}`)).status, 204);
    t.equal((await rows()).length, 2);
    t.equal(await run(), 0, 'not before an hour has passed');
    await app.clock.advance(3_600_000);
    t.equal(await run(), 2);
    t.strictSame(
      taken.map(({ text }) => /Purpose: (.*)/.exec(text)?.[1]),
      ['first', 'first', 'edit 150', 'edit 150'],
    );
    await app.clock.advance(3_600_000);
    await patch('40', '/purpose', 'rested');
    t.equal(await run(), 2, 'at once again');
  },
);

t.test('what is beyond the mails of an author in a day is not sent, and a row says so', async (t) => {
  const { app, run, patch, rows } = await setup(t);
  await enters(app, 40, 'private', {});
  let sent = 0;
  for (let hour = 0; hour < 23; hour++) {
    await patch('40', '/purpose', `hour ${hour}`);
    sent += await run();
    await app.clock.advance(3_600_000);
  }
  t.equal(sent, 40);
  const failure = 'not sent: edits of user 40 have already caused 40 mails in 24 hours, the maximum';
  t.match(await rows(), [
    { attempts: 0, dead: true, failure },
    { attempts: 0, dead: true, failure },
  ]);
  const outbox = new PostgresOutbox(app.db);
  t.match(await outbox.counts(never), { dead: 0 }, 'nobody has to look at them');
  t.same([await outbox.retryDead(new Date(app.clock.now()), never), await outbox.discardDead(never)], [0, 0]);
  await app.clock.advance(3_600_000);
  await patch('40', '/purpose', 'tomorrow');
  t.equal(await run(), 2, 'the next day');
  await patch('2', '/approvalStatus', 'approved');
  t.equal(await run(), 1, 'decisions are always told');
});
