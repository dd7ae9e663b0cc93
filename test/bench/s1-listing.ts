// S1: the listing of a user with 1,000 of 100,000 datasets, while somebody asks for details 50 times a second.

import { fetch } from 'undici';
import { manyDatasets, timed, USER } from './many-datasets.ts';
import { type BenchRow, latencies } from './row.ts';

const LISTINGS = 60;
const DETAILS_EVERY_MS = 20;

const s1: BenchRow = {
  id: 'S1',
  title: 'p99 of GET /datasets, 1,000 of 100,000 datasets, beside 50 GET /datasets/{id} a second',
  unit: 'ms',
  better: 'lower',
  sides: { sql: { is: 'limit', what: 'the same rows by one bare SQL query, as JSON text made by the database' } },
  bars: [{ atMost: 100 }],
  async measure(rounds) {
    await using site = await manyDatasets();
    const headers = { authorization: `Bearer ${site.token}` };
    const base = site.app.endpoints.installer;
    let asked = 0;
    let failed = 0;
    const details = setInterval(() => {
      const id = site.ids[asked++ % site.ids.length];
      void fetch(`${base}/datasets/${id}`, { headers })
        .then((response) => response.arrayBuffer())
        .catch(() => failed++);
    }, DETAILS_EVERY_MS);
    const list = async (): Promise<void> => {
      const response = await fetch(`${base}/datasets`, { headers });
      const items = (await response.json()) as unknown[];
      if (items.length !== site.ids.length) throw new Error(`${items.length} datasets listed, not ${site.ids.length}`);
    };
    const bare = (): Promise<unknown> =>
      site.sql.query(
        `select json_agg(x) from (select d.dataset_id, d.metadata, d.created,
           (select json_agg(i) from install_status i where i.dataset_id = d.dataset_id) as installs
         from dataset d where d.owner_id = $1 and d.state = 'live' order by d.created desc) x`,
        [USER],
      );
    try {
      await timed(10, list);
      const measured = [];
      for (let round = 0; round < rounds; round++)
        measured.push({
          ours: latencies(await timed(LISTINGS, list)).p99,
          sql: latencies(await timed(LISTINGS, bare)).p99,
        });
      if (failed > 0) throw new Error(`${failed} of ${asked} detail requests failed`);
      return measured;
    } finally {
      clearInterval(details);
    }
  },
};

export const rows: readonly BenchRow[] = [s1];
