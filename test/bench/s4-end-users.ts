// S4: pages of access requests for an owner: the first of one dataset, and one far behind.

import { CURATED, FIRST_STAFF } from '../support/many-end-users.ts';
import { timed } from './many-datasets.ts';
import { manyEndUsers } from './many-end-users.ts';
import { openedOnce } from './opened-once.ts';
import { type BenchRow, latencies } from './row.ts';

const FAR = 900_000;
const PAGE = 100;

const sites = openedOnce(manyEndUsers);
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  {
    id: 'S4a',
    title: "p99 of one dataset's page of GET /dataset-end-users, 1,000,000 access requests",
    unit: 'ms',
    better: 'lower',
    sides: { sql: { is: 'limit', what: 'the same rows by one bare SQL query, as JSON text made by the database' } },
    bars: [{ atMost: 20 }],
    async measure(rounds) {
      const site = await sites.get();
      const token = await site.token(FIRST_STAFF);
      const dataset = (n: number): string => `Many${1 + ((n * 7_919) % (CURATED - 1))}`;
      const page = (n: number): Promise<string> => site.get(token, `/dataset-end-users?datasetId=${dataset(n)}`);
      const bare = (n: number): Promise<unknown> =>
        site.pool.query(
          `select json_agg(x) from (
             select * from end_user where dataset_id = $1 order by user_id limit ${PAGE}) x`,
          [dataset(n)],
          'bench-page',
        );
      await timed(20, page);
      const measured = [];
      for (let round = 0; round < rounds; round++)
        measured.push({ ours: latencies(await timed(200, page)).p99, sql: latencies(await timed(200, bare)).p99 });
      return measured;
    },
  },
  {
    id: 'S4b',
    title: `p99 of the owner's GET /dataset-end-users at offset ${FAR} of 1,000,000`,
    unit: 'ms',
    better: 'lower',
    sides: { sql: { is: 'limit', what: 'ids of the same page by a bare SQL query with offset' } },
    bars: [{ atMost: 500 }],
    async measure(rounds) {
      const site = await sites.get();
      const token = await site.token(FIRST_STAFF);
      const page = (): Promise<string> => site.get(token, `/dataset-end-users?offset=${FAR}&limit=${PAGE}`);
      const bare = (): Promise<unknown> =>
        site.pool.query(
          `select user_id, dataset_id from end_user order by user_id, dataset_id limit ${PAGE} offset ${FAR}`,
          [],
          'bench-far',
        );
      await timed(3, page);
      const measured = [];
      for (let round = 0; round < rounds; round++)
        measured.push({ ours: latencies(await timed(20, page)).p99, sql: latencies(await timed(20, bare)).p99 });
      return measured;
    },
  },
];
