// S2: the administrators' report of all datasets, a page of 100 at any offset of 100,000.

import { fetch } from 'undici';
import { DATASETS, manyDatasets, timed } from './many-datasets.ts';
import { type BenchRow, latencies } from './row.ts';

const PAGES = 100;
const PAGE = 100;

const s2: BenchRow = {
  id: 'S2',
  title: 'p99 of GET /admin/reports/datasets/list-all, 100 of 100,000 at any offset',
  unit: 'ms',
  better: 'lower',
  sides: { sql: { is: 'limit', what: 'ids of the same page by a bare SQL query with offset' } },
  bars: [{ atMost: 50 }],
  async measure(rounds) {
    await using site = await manyDatasets();
    const headers = { 'admin-token': site.app.endpoints.adminToken };
    // Spread over the whole, the same in every round.
    const offset = (n: number): number => ((n * 7_919) % (DATASETS / PAGE)) * PAGE;
    const page = async (n: number): Promise<void> => {
      const query = `limit=${PAGE}&offset=${offset(n)}`;
      const response = await fetch(`${site.app.endpoints.installer}/admin/reports/datasets/list-all?${query}`, {
        headers,
      });
      const { results } = (await response.json()) as { results: unknown[] };
      if (results.length !== PAGE) throw new Error(`${results.length} datasets on the page, not ${PAGE}`);
    };
    const bare = (n: number): Promise<unknown> =>
      site.sql.query('select dataset_id from dataset order by created, dataset_id limit $1 offset $2', [
        PAGE,
        offset(n),
      ]);
    await timed(10, page);
    const measured = [];
    for (let round = 0; round < rounds; round++)
      measured.push({
        ours: latencies(await timed(PAGES, page)).p99,
        sql: latencies(await timed(PAGES, bare)).p99,
      });
    return measured;
  },
};

export const rows: readonly BenchRow[] = [s2];
