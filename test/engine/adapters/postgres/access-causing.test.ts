import t from 'tap';
import { causing } from '../../../../engine/adapters/access/causing.ts';
import type { Sql } from '../../../../engine/adapters/postgres/postgres.ts';
import type { Cause } from '../../../../engine/ports/access-people.ts';

const signal = new AbortController().signal;
const cause: Cause = { user: '0', at: new Date(0) };

t.test('nothing is changed when its cause could not be recorded', async (t) => {
  const lost = new Error('connection lost');
  const sql = { query: () => Promise.reject(lost) } as unknown as Sql;
  let changed = false;
  const work = async (): Promise<void> => {
    changed = true;
  };
  await t.rejects(causing({ transaction: (run) => run(sql) }, cause, work, signal), lost);
  t.notOk(changed);
});
