// P9: what a user asks for most, over HTTP with a token, in a cache of a million datasets, while fifty rows a second are
// written beside it.

import { Client } from 'undici';
import { manyDatasets, timed } from './many-datasets.ts';
import { type BenchRow, DATASETS, latencies, type Round } from './row.ts';

const COUNT = DATASETS ?? 1_000_000;
/** Of each request in a round; a p99 needs a thousand of all rounds together. */
const CALLS = 200;
const WRITE_EVERY_MS = 20;

export const rows: readonly BenchRow[] = [
  {
    id: 'P9',
    title: `p99 of a filtered page of GET /datasets, of details and of the community's page; ${COUNT} datasets, 50 writes/s`,
    unit: 'ms',
    better: 'lower',
    sides: {},
    bars: [{ atMost: 50 }, { of: 'details', atMost: 50 }, { of: 'community', atMost: 50 }],
    async measure(rounds) {
      await using site = await manyDatasets(COUNT);
      const client = new Client(site.app.endpoints.installer);
      const headers = { authorization: `Bearer ${site.token}` };
      const get = async (path: string): Promise<unknown> => {
        const { statusCode, body } = await client.request({ method: 'GET', path, headers });
        const text = await body.text();
        if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${text}`);
        return JSON.parse(text);
      };
      const one = (n: number): string => site.ids[(n * 7_919) % site.ids.length] ?? '';
      const calls: Readonly<Record<string, (n: number) => Promise<unknown>>> = {
        ours: async () => {
          const found = (await get('/datasets?ownership=owned&install_target=AlphaDB&limit=100')) as unknown[];
          if (found.length !== Math.min(100, site.ids.length)) throw new Error(`${found.length} datasets listed`);
        },
        details: (n) => get(`/datasets/${one(n)}`),
        community: () => get('/datasets/community?limit=100'),
      };
      let written = 0;
      const writes = setInterval(() => {
        // A failed write ends the measure: nobody handles its rejection.
        void site.sql.query('update dataset set name = $2 where dataset_id = $1', [one(written), `name ${written++}`]);
      }, WRITE_EVERY_MS);
      const took: Record<string, number[]> = Object.fromEntries(Object.keys(calls).map((name) => [name, []]));
      try {
        for (const call of Object.values(calls)) await timed(10, call);
        for (let n = 0; n < rounds; n++)
          for (const [name, call] of Object.entries(calls)) took[name]?.push(...(await timed(CALLS, call)));
      } finally {
        clearInterval(writes);
        await client.close();
      }
      const figures = Object.entries(took).flatMap(([name, all]) => {
        const { p50, p99 } = latencies(all);
        return [[name, p99] as const, [`${name} p50`, p50] as const];
      });
      return [{ ...Object.fromEntries(figures), samples: CALLS * rounds } as unknown as Round];
    },
  },
];
