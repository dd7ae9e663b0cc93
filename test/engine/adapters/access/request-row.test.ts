import t from 'tap';
import { updateRequest } from '../../../../engine/adapters/access/request-row.ts';
import type { Sql } from '../../../../engine/adapters/postgres/postgres.ts';

t.test('a change of a request that fails, fails the transaction', async (t) => {
  const sql = { query: () => Promise.reject(new Error('no connection')) } as unknown as Sql;
  const terms = {} as unknown as globalThis.Parameters<typeof updateRequest>[2];
  await t.rejects(updateRequest(sql, 1, terms), /no connection/);
});
