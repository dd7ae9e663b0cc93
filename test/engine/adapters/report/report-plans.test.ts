// How the statements of report jobs are planned when there are many jobs, users and links.

import t from 'tap';
import {
  all,
  at,
  complete,
  failed,
  guestOf,
  idOf,
  QUERY,
  queryOf,
  requestOf,
  rulesAt,
  signal,
  tenantOf,
  userOf,
} from '../../../conformance/report-world.ts';
import { reportDatabase, reportProcess } from '../../../support/report-database.ts';
import { plansOf, recordStatements } from '../../../support/statement-plans.ts';

const JOBS = 40_000;
const STATUSES = ['complete', 'failed', 'expired', 'queued', 'in-progress'];
const ADA = userOf(7);

const { db, jobs, collections, queue, expiry } = await reportProcess(t, await reportDatabase(t));
await db.query(
  `insert into report_job (id, query_id, configuration, fingerprint, status, created_at, run_at, started_at, ended_at,
     accessed_at, attempt, holder, lease_until, failure, stderr, debris_to)
   select lpad(to_hex(n), 32, '0'), lpad(to_hex(n % 500), 32, '0'), '{}', 'f', s, $1, $1::timestamptz + n * interval '1 s', $1,
     case when s in ('complete', 'failed') then $1::timestamptz end, $1::timestamptz + n * interval '1 s', 1,
     case s when 'in-progress' then 1 end, case s when 'in-progress' then now() + interval '1 hour' end,
     case s when 'failed' then 'f' end, case when s in ('complete', 'failed') then '' end, case when n % 100 = 0 then 1 end
   from generate_series(1, ${JOBS}) n,
     lateral (select case when n % 2000 = 7 then 'in-progress' when n % 5 = 3 then 'queued'
       else ($2::text[])[1 + n % 3] end as s) s`,
  [at(0), STATUSES],
);
await db.query(
  `insert into report_file (report_id, position, name, size)
   select id, p, 'report_' || p, 1 from report_job, generate_series(0, 2) p where status = 'complete'`,
);
// A few users have most of the links.
await db.query(
  `insert into collection (user_id, report_id, query_id)
   select u, id, query_id from report_job j, lateral (values (7), (1000 + ('x' || right(id, 4))::bit(16)::int % 3000)) v (u)
   where u > 7 or right(id, 1) in ('1', '2', '3')`,
);
await db.query('vacuum (analyze)');
const statements = recordStatements(db);

/** Fails for every table that is read whole. */
async function planned(t: Tap, run: () => Promise<unknown>): Promise<void> {
  const before = statements.length;
  await run();
  const ran = statements.slice(before).filter(({ text }) => !/pg_notify|pg_advisory/.test(text));
  t.ok(ran.length > 0);
  for (const plan of await plansOf(db, ran)) t.notMatch(plan, /Seq Scan/, plan);
}
type Plan = Readonly<Record<string, unknown>>;
type Tap = Pick<typeof t, 'ok' | 'notMatch'>;

t.test('a caller is answered from indexes', async (t) => {
  const link = { user: ADA, meta: { summary: 's' } };
  const rules = rulesAt(10 ** 6, { maxQueued: 10_000 });
  await planned(t, () => jobs.submit(requestOf(JOBS + 1), link, rules, signal));
  await planned(t, () => jobs.submit(requestOf(1), link, rules, signal));
  await planned(t, () => jobs.submit({ ...requestOf(2), queryId: queryOf(2) }, link, rules, signal));
  await planned(t, () => jobs.submit(requestOf(JOBS + 2), link, { ...rules, maxQueued: 5_000 }, signal));
  await planned(t, () => jobs.requeue(idOf(5), rules, signal));
  for (const reader of [undefined, { user: ADA, save: true }, { user: userOf(8), save: true }])
    await planned(t, () => jobs.read(idOf(4), reader, at(10 ** 6), signal));
  await planned(t, () => all(jobs.files(idOf(12), signal)));
  await planned(t, () => jobs.file(idOf(12), 'report_1', signal));
  await planned(t, () => jobs.stderr(idOf(12), signal));
  await planned(t, () => jobs.statuses([idOf(12), idOf(13), idOf(10 ** 6)], signal));
});

t.test('collections are read from indexes, however long they are', async (t) => {
  for (const user of [ADA, userOf(1002), userOf(99), guestOf(7)])
    for (const queryId of [undefined, queryOf(1), QUERY])
      await planned(t, () => all(collections.list(user, { queryId }, signal)));
  await planned(t, () => collections.annotate(ADA, idOf(1), { summary: null }, signal));
  await planned(t, () => collections.handOver(userOf(1002), ADA, signal));
  await planned(t, () => collections.handOver(guestOf(7), ADA, signal));
  await planned(t, () => collections.remove(ADA, idOf(1), signal));
});

t.test('what one tenant has waiting costs the claims of others nothing', async (t) => {
  const more = await reportProcess(t, await reportDatabase(t));
  await more.db.query(
    `insert into report_job (id, query_id, configuration, fingerprint, created_at, run_at, accessed_at, tenant)
     select lpad(to_hex(n), 32, '0'), repeat('0', 32), '{}', 'f', $1, $1::timestamptz + n * interval '1 ms', $1,
       case n when 100000 then 'user 8' else 'user 7' end
     from generate_series(1, 100000) n`,
    [at(0)],
  );
  // A sample of such a table mostly has jobs of that tenant alone: the planner then believes that there is no other.
  await more.db.query('alter table report_job alter tenant set (n_distinct = 1)');
  await more.db.query('vacuum (analyze)');
  const statements = recordStatements(more.db);
  const claims = await more.queue.completeAndFetch([], { limit: 2, withheld: [tenantOf(7)] }, at(10 ** 6), signal);
  t.match(claims, [{ id: idOf(100_000) }]);
  t.equal((await more.queue.completeAndFetch([], { limit: 4 }, at(10 ** 6), signal)).length, 4);
  const claiming = statements.filter(({ text }) => text.includes('ranked'));
  t.equal(claiming.length, 2);
  for (const { text, values } of claiming)
    await more.db.transaction(async (sql) => {
      const [{ 'QUERY PLAN': plan } = { 'QUERY PLAN': [] }] = await sql.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `explain (analyze, format json, buffers) ${text}`,
        values,
      );
      const [{ Plan: top } = { Plan: {} }] = plan as { Plan: Plan }[];
      t.ok(Number(top['Actual Total Time']) >= 0);
      t.comment(`${top['Actual Total Time']} ms, ${top['Shared Hit Blocks']} pages`);
      t.ok(Number(top['Shared Hit Blocks']) < 300, 'pages read');
    }, signal);
});

t.test('the queue and the expiry read what they need', async (t) => {
  let claims: Awaited<ReturnType<typeof queue.completeAndFetch>> = [];
  await planned(t, async () => {
    claims = await queue.completeAndFetch([], { limit: 24 }, at(10 ** 6), signal);
  });
  t.equal(claims.length, 24);
  await planned(t, () => queue.renew(claims, signal));
  const outcomes = [complete(1), failed(1), { kind: 'again', from: at(0), countsAttempt: true } as const];
  const done = claims.map((claim, i) => ({ claim, outcome: outcomes[i % 3] ?? complete(1) }));
  await planned(t, () => queue.completeAndFetch(done, { limit: 0 }, at(10 ** 6), signal));
  await planned(t, () => expiry.expire(at(1_000), 100, signal));
  await planned(t, () => expiry.expireOne(idOf(12), signal));
  await planned(t, () => all(jobs.failed(signal)));
  await planned(t, () => expiry.debris(idOf(10), 100, signal));
  await planned(t, () => expiry.removed({ id: idOf(100), upTo: 1 }, signal));
});
