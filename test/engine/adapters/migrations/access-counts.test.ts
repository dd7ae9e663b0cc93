// What lists say of how many there are, against how many there are.

import t from 'tap';
import { PostgresEndUsers } from '../../../../engine/adapters/access/end-users.ts';
import { PostgresAccessInvitations } from '../../../../engine/adapters/access/invitations.ts';
import { PostgresAccessProviders } from '../../../../engine/adapters/access/providers.ts';
import { PostgresAccessStaff } from '../../../../engine/adapters/access/staff.ts';
import { accessMigrations, migrate } from '../../../../engine/adapters/migrations/migrations.ts';
import type { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import {
  type CuratedId,
  REQUEST_STATUSES,
  type SettledTerms,
  settleTerms,
} from '../../../../engine/model/access-request.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import { rejected } from '../../../../engine/runtime/failure.ts';
import { openDatabase } from '../../../support/database.ts';

const signal = new AbortController().signal;
const NOW = new Date('2026-03-01T12:00:00Z');
const CAUSE = { user: '1' as UserId, at: NOW };
const DATASETS = ['A', 'B', 'C'] as CuratedId[];
const USERS = 12;
const CHANGES = 1_500;
const AT_ONCE = 8;

async function database(t: { teardown(fn: () => unknown): void }) {
  const db = await openDatabase(t, 'access', AT_ONCE);
  await migrate(db, 'access', await accessMigrations(), signal);
  return db;
}

const addDatasets = (db: Postgres): Promise<unknown> =>
  db.query(
    `insert into curated_dataset select id, 'S-' || id, '', '', '', '', 'private', -1, '', '', '', '', ''
     from unnest($1::text[]) id`,
    [DATASETS],
  );

const kept = (db: Postgres) =>
  db.query(
    'select dataset_id, providers, requested, approved, denied, staff from people_count order by dataset_id collate "C"',
  );

/** The same by looking at every row. */
const counted = (db: Postgres) =>
  db.query(
    `select c.dataset_id, coalesce((select count(*) from provider p where p.dataset_id = c.dataset_id), 0) as providers,
       count(*) filter (where approval_status = 'requested') as requested,
       count(*) filter (where approval_status = 'approved') as approved,
       count(*) filter (where approval_status = 'denied') as denied,
       case c.dataset_id when '' then (select count(*) from staff) else 0 end as staff
     from (select dataset_id from curated_dataset union all select '') c
     left join end_user e on c.dataset_id in (e.dataset_id, '') group by c.dataset_id order by c.dataset_id collate "C"`,
  );

const terms = (approvalStatus: (typeof REQUEST_STATUSES)[number]): SettledTerms => {
  const texts = { purpose: 'p', researchQuestion: 'r', analysisPlan: 'a', disseminationPlan: 'd', priorAuth: 'n' };
  const rest = { restrictionLevel: 'private', startDate: NOW, durationDays: -1, denialReason: 'no' } as const;
  const wanted = { ...texts, ...rest, approvalStatus };
  return { ...wanted, ...settleTerms(undefined, wanted, NOW) };
};

/** As a statement of somebody. */
const caused = (db: Postgres, ...texts: readonly string[]): Promise<void> =>
  db.transaction(async (sql) => {
    await sql.query(`select set_config('longshore.cause_user', '0', true),
      set_config('longshore.cause_time', '2026-03-01T12:00:00Z', true)`);
    for (const text of texts) await sql.query(text);
  }, signal);

/** Numbers below `n`, the same in every run. */
function dice(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

t.test(`after ${CHANGES} random changes, ${AT_ONCE} at a time, counts are what there is`, async (t) => {
  const db = await database(t);
  await addDatasets(db);
  const endUsers = new PostgresEndUsers(db);
  const providers = new PostgresAccessProviders(db);
  const staff = new PostgresAccessStaff(db);
  const invitations = new PostgresAccessInvitations(db);
  const roll = dice(7);
  const user = (): UserId => String(1 + roll(USERS)) as UserId;
  const dataset = (): CuratedId => DATASETS[roll(DATASETS.length)] ?? ('A' as CuratedId);
  const status = () => REQUEST_STATUSES[roll(3)] ?? 'requested';
  const given = rejected('not now');
  const sometimes = (): void => {
    if (roll(5) === 0) throw given;
  };
  const done: Record<string, number> = {};
  const changes: Readonly<Record<string, () => Promise<unknown>>> = {
    create: () => endUsers.create({ userId: user(), datasetId: dataset() }, terms(status()), CAUSE, signal),
    change: () => {
      const to = terms(status());
      const decide = () => {
        sometimes();
        return { terms: to, mails: [] };
      };
      return endUsers.change({ userId: user(), datasetId: dataset() }, CAUSE, decide, signal);
    },
    remove: () => endUsers.remove({ userId: user(), datasetId: dataset() }, CAUSE, sometimes, signal),
    addProvider: () => providers.add({ userId: user(), datasetId: dataset(), isManager: false }, CAUSE, signal),
    setManager: () => providers.setManager(1 + roll(60), roll(2) === 0, CAUSE, signal),
    removeProvider: () => providers.remove(1 + roll(60), CAUSE, signal),
    addStaff: () => staff.add(user(), roll(2) === 0, CAUSE, signal),
    removeStaff: () => staff.remove(1 + roll(60), CAUSE, signal),
    invite: () => {
      const to = { email: `${user()}@lab.example`, datasetId: dataset() };
      const at = new Date(NOW.getTime() + roll(1_000) * 86_400_000);
      const what = roll(2) === 0 ? { kind: 'provider', isManager: true } : { kind: 'end-user', terms: terms(status()) };
      return invitations.invite({ ...to, ...what } as never, { ...CAUSE, at }, signal);
    },
    redeem: () => {
      const who = user();
      return invitations.redeem(`${who}@lab.example`, who, NOW, signal);
    },
  };
  const names = Object.keys(changes);
  let left = CHANGES;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const name = names[roll(names.length)] ?? '';
      const result = await changes[name]?.().catch((error: unknown) => {
        if (error !== given) throw error;
        return 'given up';
      });
      done[`${name} ${typeof result === 'number' ? 'n' : result}`] = 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const outcome of [
    'create true',
    'create false',
    'change given up',
    'remove true',
    'removeProvider true',
    'removeProvider false',
  ])
    t.ok(done[outcome], `some ended so: ${outcome}`);
  t.ok(done['redeem n'] && done['removeStaff changed'] && done['addStaff n']);
  const rows = await kept(db);
  t.equal(rows.length, DATASETS.length + 1);
  t.strictSame(rows, await counted(db));
  const all = await endUsers.list({ limit: 1, offset: 0 }, signal);
  t.ok(all.total > 3, `${all.total} access requests are left`);
  t.equal(all.total, (await db.query<{ n: number }>('select count(*) as n from end_user'))[0]?.n);
});

t.test('many rows in one statement count, none may be thrown away uncounted, and none moves', async (t) => {
  const db = await database(t);
  await addDatasets(db);
  await caused(
    db,
    `insert into provider (user_id, dataset_id, is_manager)
    select n, d, false from generate_series(1, 50) n, unnest('{A,B}'::text[]) d`,
    `insert into end_user (user_id, dataset_id, restriction_level, approval_status, start_date, duration, purpose,
      research_question, analysis_plan, dissemination_plan, prior_auth, denial_reason, requested_at)
    select n, d, 'public', case n % 2 when 0 then 'approved' else 'requested' end, now(), -1, '', '', '', '', '', '', now()
    from generate_series(1, 50) n, unnest('{A,B}'::text[]) d`,
  );
  t.strictSame(await kept(db), await counted(db));
  await caused(db, 'delete from end_user where user_id > 30', 'delete from provider where user_id > 30');
  await caused(db, `update end_user set approval_status = 'approved' where user_id > 20`);
  t.strictSame(await kept(db), await counted(db));
  for (const table of ['end_user', 'provider', 'staff'])
    await t.rejects(caused(db, `truncate ${table}`), { message: /is counted; remove rows instead/ });
  for (const table of ['end_user', 'provider'])
    await t.rejects(caused(db, `update ${table} set dataset_id = 'C' where user_id = 1 and dataset_id = 'A'`), {
      message: /stays with/,
    });
  t.strictSame(await kept(db), await counted(db), 'all as it was');
});
