import t, { type Test } from 'tap';
import { ProblemLists } from '../../../../actors/daemons/problem-lists.ts';
import {
  MAIL_PROBLEMS,
  PostgresServiceProblems,
  REPORT_PROBLEMS,
} from '../../../../engine/adapters/jobs/service-problems-postgres.ts';
import { accessMigrations, migrate, reportMigrations } from '../../../../engine/adapters/migrations/migrations.ts';
import type { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import type { ProblemFilter, ProblemList, ProblemPlace } from '../../../../engine/ports/problems.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { openDatabase } from '../../../support/database.ts';

const signal = new AbortController().signal;
const jobId = (n: number): string => n.toString(16).padStart(32, '0');

const ids = async (list: ProblemList, filter: ProblemFilter = {}): Promise<readonly string[]> =>
  (await list.page(filter, { limit: 100 }, signal)).problems.map(({ id }) => id);

async function reports(t: Test, failures: readonly string[]) {
  const db = await openDatabase(t, 'report');
  await migrate(db, 'report', await reportMigrations(), signal);
  for (const [n, failure] of failures.entries())
    await db.query(
      `insert into report_job (id, query_id, configuration, fingerprint, status, created_at, run_at, started_at, ended_at,
         accessed_at, attempt, attempts, failure, stderr)
       values ($1, $1, '{}', 'f', 'failed', now(), now(), now(), now() - $2 * interval '1 minute', now(), 3, 3, $3, 'text')`,
      [jobId(n + 1), failures.length - n, failure],
    );
  return { db, problems: new PostgresServiceProblems(db, REPORT_PROBLEMS) };
}

async function mails(t: Test, failures: readonly (string | undefined)[]) {
  const db = await openDatabase(t, 'access');
  await migrate(db, 'access', await accessMigrations(), signal);
  for (const failure of failures)
    await db
      .query(`insert into outbox (draft, due, attempts) values ('{}', now() + interval '1 hour', 12)`)
      .then(() =>
        failure === undefined
          ? []
          : db.query('update outbox set dead = true, failure = $1 where mail_id = (select max(mail_id) from outbox)', [
              failure,
            ]),
      );
  return { db, problems: new PostgresServiceProblems(db, MAIL_PROBLEMS) };
}

const statuses = (db: Postgres) =>
  db.query('select status, attempts, failure, stderr, ended_at, debris_to from report_job order by id');

t.test('failed reports are listed by cause, and filters that they cannot match leave them out', async (t) => {
  const { problems } = await reports(t, ['no database /blast/a1', 'no database /blast/b2', 'out of memory']);
  const { problems: found } = await problems.page({}, { limit: 10 }, signal);
  const none = { dataset: undefined, target: undefined, owner: undefined, type: undefined };
  t.match(found[0], { ...none, id: `report:${jobId(1)}`, lane: 'report', state: 'failed', cause: 'no database PATH' });
  t.strictSame(
    found.map(({ id }) => id),
    [1, 2, 3].map((n) => `report:${jobId(n)}`),
    'the oldest first',
  );
  t.match(await problems.causes({}, 10, signal), [
    { cause: 'no database PATH', count: 2 },
    { cause: 'out of memory', count: 1 },
  ]);
  t.strictSame(await problems.counts({ contains: 'MEMORY' }, signal), new Map([['report', 1]]));
  for (const filter of [{ lane: 'import' }, { types: ['genelist'] }, { target: 'AlphaDB' }, { state: 'dead' }] as const)
    t.strictSame(await ids(problems, filter), [], JSON.stringify(filter));
  t.equal((await ids(problems, { lane: 'report' })).length, 3);
});

t.test('a failed report is queued with all its attempts, or expires; others stay', async (t) => {
  const { db, problems } = await reports(t, ['one', 'two', 'three']);
  const [one, two, three] = (await ids(problems)) as [string, string, string];
  t.strictSame(await problems.retry([one, 'report:none'], signal), ['done', 'not-failed']);
  t.strictSame(await problems.discard([two, one], signal), ['done', 'not-failed']);
  t.strictSame(await ids(problems), [three]);
  const gone = { failure: null, stderr: null, ended_at: null, debris_to: 3 };
  t.match(await statuses(db), [
    { status: 'queued', attempts: 0, ...gone },
    { status: 'expired', attempts: 3, ...gone },
    { status: 'failed', attempts: 3, failure: 'three', stderr: 'text' },
  ]);
  await t.rejects(problems.retry([three], AbortSignal.abort()), { name: 'AbortError' });
});

t.test('a mail that was given up is due at once with all its attempts, or is removed; others stay', async (t) => {
  const { db, problems } = await mails(t, [
    'mailbox a1b2c3d4 is unknown',
    undefined,
    'mailbox e5f6a7b8 is unknown',
    'too large',
  ]);
  // Beyond the limits of its author: it was never attempted.
  await db.query(`insert into outbox (draft, due, dead, failure) values ('{}', now(), true, 'not sent')`);
  t.strictSame(await ids(problems), ['mail:1', 'mail:3', 'mail:4']);
  t.match(await problems.causes({}, 10, signal), [
    { cause: 'mailbox ID is unknown', lane: 'mail', state: 'dead', count: 2 },
    {},
  ]);
  t.strictSame(await problems.retry(['mail:1', 'mail:2', 'mail:5'], signal), ['done', 'not-failed', 'not-failed']);
  t.strictSame(await problems.discard(['mail:3', 'mail:5'], signal), ['done', 'not-failed']);
  t.strictSame(await ids(problems), ['mail:4']);
  t.strictSame(await db.query('select mail_id, dead, attempts, failure, due <= now() as due from outbox order by 1'), [
    { mail_id: 1, dead: false, attempts: 0, failure: null, due: true },
    { mail_id: 2, dead: false, attempts: 12, failure: null, due: false },
    { mail_id: 4, dead: true, attempts: 12, failure: 'too large', due: false },
    { mail_id: 5, dead: true, attempts: 0, failure: 'not sent', due: true },
  ]);
});

t.test('the lists of several services follow one another as one list', async (t) => {
  const first = await reports(t, ['one', 'two']);
  const second = await mails(t, ['three', 'four', 'one']);
  const lists = new ProblemLists({ report: first.problems, mail: second.problems }, systemClock);
  const all = await ids(lists);
  t.strictSame(all, [`report:${jobId(1)}`, `report:${jobId(2)}`, 'mail:1', 'mail:2', 'mail:3']);
  for (const limit of [1, 2, 3, 4, 5]) {
    const seen: string[] = [];
    let pages = 0;
    let after: ProblemPlace | undefined;
    do {
      const page = await lists.page({}, { limit, ...(after ? { after } : {}) }, signal);
      t.ok(page.problems.length <= limit);
      seen.push(...page.problems.map(({ id }) => id));
      after = page.next;
      pages += 1;
    } while (after);
    t.strictSame(seen, all, `in pages of ${limit}`);
    t.equal(pages, Math.ceil(all.length / limit), 'a full last page has no next one');
  }
  const { next: afterReports } = await new ProblemLists(
    { report: first.problems, mail: (await mails(t, [])).problems },
    systemClock,
  ).page({}, { limit: 2 }, signal);
  t.equal(afterReports, undefined, 'no list after this one has anything');
  // A process without report jobs, and one without dataset access.
  const { next } = await lists.page({}, { limit: 3 }, signal);
  const pageOf = async (others: ProblemLists) =>
    (await others.page({}, { limit: 9, ...(next ? { after: next } : {}) }, signal)).problems.map(({ id }) => id);
  t.strictSame(await pageOf(new ProblemLists({ mail: second.problems }, systemClock)), ['mail:2', 'mail:3']);
  t.strictSame(await pageOf(new ProblemLists({ report: first.problems }, systemClock)), []);
  t.strictSame(
    await lists.counts({}, signal),
    new Map([
      ['report', 2],
      ['mail', 3],
    ]),
  );
  t.equal((await lists.causes({}, 3, signal)).length, 3);
});
