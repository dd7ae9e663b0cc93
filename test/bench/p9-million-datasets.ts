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
    title: `p99 of a filtered page of GET /datasets, of details, of the community's page, of a search of own datasets, and of one of the community for a word that all datasets have, for one that few have, and for an identifier; ${COUNT} datasets, 50 edits/s`,
    unit: 'ms',
    better: 'lower',
    sides: {},
    bars: [
      { atMost: 50 },
      ...['details', 'community', 'own search', 'frequent word', 'rare word', 'identifier', 'next page'].map((of) => ({
        ...{ of, atMost: 50 },
      })),
    ],
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
      /** A search that must find so many on its first page. */
      const found = async (path: string, least: number): Promise<void> => {
        const { length } = (await get(path)) as unknown[];
        if (length < least) throw new Error(`GET ${path}: ${length} datasets found`);
      };
      const one = (n: number): string => site.ids[(n * 7_919) % site.ids.length] ?? '';
      const calls: Readonly<Record<string, (n: number) => Promise<unknown>>> = {
        ours: async () => {
          const found = (await get('/datasets?ownership=owned&install_target=AlphaDB&limit=100')) as unknown[];
          if (found.length !== Math.min(100, site.ids.length)) throw new Error(`${found.length} datasets listed`);
        },
        details: (n) => get(`/datasets/${one(n)}`),
        community: () => get('/datasets/community?limit=100'),
        'own search': (n) =>
          found(`/datasets?ownership=owned&q=genes+cohort${(10 * (1 + (n % site.ids.length))) % 1_000}`, 1),
        'frequent word': () => found('/datasets/community?q=genes', Math.min(100, COUNT / 100)),
        'rare word': (n) => found(`/datasets/community?q=genes+cohort${n % Math.min(1_000, COUNT / 100)}`, 1),
        identifier: (n) =>
          found(`/datasets/community?q=PF3D7_${String(1 + 100 * (n % (COUNT / 100))).padStart(7, '0')}`, 1),
        'next page': () => get(next),
      };
      const next = await secondPage(
        client,
        headers,
        `/datasets/community?limit=${Math.min(100, COUNT / 200)}&sort=name`,
      );
      let written = 0;
      let writing: Promise<unknown> = Promise.resolve();
      const writes = setInterval(() => {
        // A failed write ends the measure: nobody handles its rejection.
        writing = writing.then(() =>
          site.sql.query(
            `update dataset set name = $2, metadata = metadata || jsonb_build_object('name', $2::text) where dataset_id = $1`,
            [one(written), `name ${written++}`],
          ),
        );
      }, WRITE_EVERY_MS);
      const took: Record<string, number[]> = Object.fromEntries(Object.keys(calls).map((name) => [name, []]));
      try {
        for (const call of Object.values(calls)) await timed(10, call);
        for (let n = 0; n < rounds; n++)
          for (const [name, call] of Object.entries(calls)) took[name]?.push(...(await timed(CALLS, call)));
      } finally {
        clearInterval(writes);
        await writing;
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

/** The path of what follows the first page. */
async function secondPage(client: Client, headers: Record<string, string>, path: string): Promise<string> {
  const { headers: given, body } = await client.request({ method: 'GET', path, headers });
  await body.dump();
  const url = /<([^>]+)>/.exec(String(given.link))?.[1];
  if (url === undefined) throw new Error(`GET ${path}: no next page`);
  const { pathname, search } = new URL(url);
  return pathname + search;
}
