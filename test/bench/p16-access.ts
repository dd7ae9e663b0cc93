// P16: what a person may do, over HTTP with a token, beside what a bare prepared SELECT of the same rows takes on a pool of
// the same size: 10 calls at a time, so that both are bound by the work and not by waiting for each other.

import { CURATED, FIRST_STAFF, FIRST_USER } from '../support/many-end-users.ts';
import { paced, timed } from './many-datasets.ts';
import { type ManyEndUsers, manyEndUsers } from './many-end-users.ts';
import { openedOnce } from './opened-once.ts';
import { type Bar, type BenchRow, latencies, type Round } from './row.ts';

const CALLS = 4_500;
const AT_ONCE = 10;
const PAGE = 100;
/** Has nine requests, and no datasets of their own. */
const USER = FIRST_USER + 50_000;

const ONE = `
  select c.restriction_level, p.is_manager, e.approval_status, e.start_date, e.duration from curated_dataset c
  left join provider p on p.dataset_id = c.dataset_id and p.user_id = $1::numeric
  left join end_user e on e.dataset_id = c.dataset_id and e.user_id = $1::numeric
  where c.study_id = $2`;
const ALL = `
  select c.*, e.approval_status, e.start_date, e.duration from end_user e
  join curated_dataset c on c.dataset_id = e.dataset_id where e.user_id = $1::numeric`;

/** Each study in turn, the same in every round. */
const study = (n: number): string => `S-Many${1 + ((n * 7_919) % (CURATED - 1))}`;

const sites = openedOnce(manyEndUsers);
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  row(
    {
      id: 'P16a',
      title: 'one call of GET /permissions/{study-id}, 10 at a time, 1,000,000 access requests',
      what: 'a bare prepared SELECT of the same study, part and grant on a pool of the same size',
      bar: { over: 'sql', atMost: 3 },
    },
    (site, token, n) => site.get(token, `/permissions/${study(n)}`),
    (site, n) => site.pool.query(ONE, [USER, study(n)], 'bench-one'),
  ),
  row(
    {
      id: 'P16b',
      title: 'one call of GET /permissions, 10 at a time, 1,000,000 access requests',
      what: 'a bare prepared SELECT of the same grants with their datasets on a pool of the same size',
      bar: { over: 'sql', atMost: 5 },
    },
    (site, token) => site.get(token, '/permissions'),
    (site) => site.pool.query(ALL, [USER], 'bench-all'),
  ),
  {
    id: 'P16c',
    title: "p99 of one dataset's page of GET /dataset-end-users, 1,000,000 access requests",
    unit: 'ms',
    better: 'lower',
    sides: { sql: { is: 'limit', what: 'the same rows by one bare SQL query, as JSON text made by the database' } },
    bars: [{ over: 'sql', atMost: 5 }],
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
];

function row(
  { id, title, what, bar }: { id: string; title: string; what: string; bar: Bar },
  ours: (site: ManyEndUsers, token: string, n: number) => Promise<unknown>,
  bare: (site: ManyEndUsers, n: number) => Promise<unknown>,
): BenchRow {
  return {
    ...{ id, title, unit: 'ms', better: 'lower', sides: { sql: { is: 'limit', what } }, bars: [bar] },
    async measure(rounds) {
      const site = await sites.get();
      const token = await site.token(USER);
      const round = async (): Promise<Round> => ({
        ours: await paced(CALLS, AT_ONCE, (n) => ours(site, token, n)),
        sql: await paced(CALLS, AT_ONCE, (n) => bare(site, n)),
      });
      await round();
      const measured = [];
      for (let n = 0; n < rounds; n++) measured.push(await round());
      return measured;
    },
  };
}
