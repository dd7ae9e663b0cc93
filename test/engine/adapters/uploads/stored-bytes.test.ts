import t from 'tap';
import type { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import { PostgresStoredBytes } from '../../../../engine/adapters/uploads/stored-bytes-postgres.ts';
import type { DatasetAddress } from '../../../../engine/model/object-key.ts';

t.test('a recount that fails is told to its caller', async (t) => {
  const db = { query: () => Promise.reject(new Error('no connection')) } as unknown as Postgres;
  const address = { owner: '1', dataset: 'dataset0' } as unknown as DatasetAddress;
  const signal = new AbortController().signal;
  await t.rejects(new PostgresStoredBytes(db, 1).recount(address, [], [], signal), /no connection/);
});
