// Every page of a list of access requests, wherever it begins and however long it is.

import t from 'tap';
import { PostgresEndUsers } from '../../../../engine/adapters/access/end-users.ts';
import type { CuratedId, RequestStatus } from '../../../../engine/model/access-request.ts';
import { accessApp, never } from '../../../http/access/access-app.ts';

t.test('a page is the same part of the whole from either end', async (t) => {
  const { db } = await accessApp(t);
  await db.transaction(async (sql) => {
    await sql.query(`select set_config('longshore.cause_user', '0', true),
      set_config('longshore.cause_time', '2026-03-01T12:00:00Z', true)`);
    await sql.query(`insert into end_user (user_id, dataset_id, restriction_level, approval_status, start_date, duration,
        purpose, research_question, analysis_plan, dissemination_plan, prior_auth, denial_reason, requested_at)
      select n, d, 'public', case n % 3 when 0 then 'approved' else 'requested' end, now(), -1, '', '', '', '', '', '', now()
      from generate_series(1, 7) n, unnest('{public,private,protected}'::text[]) d`);
  }, never);
  const endUsers = new PostgresEndUsers(db);
  const page = async (filter: object, limit: number, offset: number) => {
    const { total, items } = await endUsers.list({ ...filter, limit, offset }, never);
    const found: string[] = [];
    for await (const batch of items) for (const { userId, datasetId } of batch) found.push(`${userId}-${datasetId}`);
    return { total, found };
  };
  const filters: { dataset?: CuratedId; status?: RequestStatus }[] = [
    {},
    { status: 'approved' },
    { status: 'denied' },
    { dataset: 'private' as CuratedId },
    { dataset: 'private' as CuratedId, status: 'requested' },
  ];
  for (const filter of filters) {
    const whole = (
      await db.query<{ id: string }>(
        `select user_id || '-' || dataset_id as id from end_user
         where ($1::text is null or dataset_id = $1) and ($2::text is null or approval_status = $2)
         order by user_id, dataset_id`,
        [filter.dataset ?? null, filter.status ?? null],
      )
    ).map(({ id }) => id);
    for (const limit of [1, 2, 5, 100])
      for (let offset = 0; offset <= whole.length + 2; offset++)
        t.strictSame(
          await page(filter, limit, offset),
          { total: whole.length, found: whole.slice(offset, offset + limit) },
          `${JSON.stringify(filter)} ${limit} from ${offset}`,
        );
    t.strictSame((await page(filter, 10, Number.MAX_SAFE_INTEGER)).found, []);
  }
});
