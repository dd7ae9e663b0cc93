import t, { type Test } from 'tap';
import { PostgresAuditLog } from '../../../../engine/adapters/datasets/audit-postgres.ts';
import { sqlState } from '../../../../engine/adapters/postgres/postgres.ts';
import { auditLogConformance, auditRow } from '../../../conformance/audit-log.ts';
import { FakeAuditLog } from '../../../fakes/fake-audit-log.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';

const db = await cacheDatabase(t);
const signal = new AbortController().signal;
const AT = Date.UTC(2026, 10, 25, 12);

const weeksOf = async (): Promise<string[]> =>
  (
    await db.query<{ week: string }>(
      "select inhrelid::regclass::text as week from pg_inherits where inhparent = 'audit'::regclass order by 1",
    )
  ).map(({ week }) => week);

/** Empty, as only whoever may change the schema can make it. */
async function emptied(_t: Test): Promise<PostgresAuditLog> {
  for (const week of await weeksOf()) await db.query(`drop table ${week}`);
  return new PostgresAuditLog(db);
}

t.test('PostgreSQL', async (t) => auditLogConformance(t, emptied));

t.test('fake', async (t) => auditLogConformance(t, async () => new FakeAuditLog()));

t.test('update, delete and truncate are refused by the database, to the owner and to a superuser', async (t) => {
  const log = await emptied(t);
  await log.append([auditRow({ at: AT })], signal);
  const [week] = await weeksOf();
  t.equal(week, 'audit_20261123');
  const kept = await db.query('select * from audit');
  t.equal(kept.length, 1);
  for (const table of ['audit', week])
    for (const statement of [
      `update ${table} set actor = 'somebody else'`,
      `update ${table} set outcome = outcome where false`,
      `delete from ${table}`,
      `delete from ${table} where number = 1`,
      `truncate ${table}`,
      `merge into ${table} a using (values (1)) v on true when matched then delete`,
      `with gone as (delete from ${table} returning 1) select count(*) from gone`,
    ]) {
      const error = await db.query(statement).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      t.equal(sqlState(error), '42501', statement);
      t.match(error, { message: /the audit trail is only added to/ });
    }
  t.strictSame(await db.query('select * from audit'), kept);
});

t.test('processes that need a new week at once all add their rows', async (t) => {
  await emptied(t);
  const logs = Array.from({ length: 4 }, () => new PostgresAuditLog(db));
  await Promise.all(logs.map((log, i) => log.append([auditRow({ at: AT, route: `/${i}` })], signal)));
  t.same(await weeksOf(), ['audit_20261123']);
  t.equal((await db.query('select 1 from audit')).length, 4);
});

t.test('a reader of the trail does not hold up the first row of a week', async (t) => {
  const log = await emptied(t);
  await log.append([auditRow({ at: AT })], signal);
  await db.transaction(async (sql) => {
    await sql.query('select count(*) from audit');
    await log.append([auditRow({ at: AT + 7 * 86_400_000 })], signal);
  }, signal);
  t.same(await weeksOf(), ['audit_20261123', 'audit_20261130']);
});
