// P12: the server is killed under the load of P1 and started again at once: how long until it installs at the rate it had
// before. And the longest time in an undisturbed round in which no job ended, of whatever lane.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { systemClock } from '../../engine/runtime/time.ts';
import { Product, superuser } from './product.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';

const COUNT = DATASETS ?? 500;
const LOOK_MS = 100;
/** The rate is that of the ends in so long a time. */
const WINDOW_MS = 1_000;
const FULL = 0.9;
const RETRY_MS = 20;

export const rows: readonly BenchRow[] = [
  {
    id: 'P12',
    title: `kill -9 of the server among ${COUNT} datasets, until it installs at ${FULL * 100} % of the rate before`,
    unit: 'ms',
    better: 'lower',
    sides: {},
    bars: [{ atMost: 2_000 }, { of: 'longestGap', atMost: 500, unit: 'ms' }],
    async measure(rounds) {
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) {
        await using product = await Product.start();
        await product.installed(await product.upload(Math.min(COUNT, 50)), LOOK_MS);
        const begun = Date.now();
        await product.installed(await product.upload(COUNT), LOOK_MS);
        await product.idle();
        const longestGap = longest(await jobEnds(product, begun));
        measured.push({ ours: await untilFullRate(product), longestGap });
      }
      return measured;
    },
  },
];

/** Milliseconds since the kill. */
async function untilFullRate(product: Product): Promise<number> {
  // An upload that meets no server is sent again.
  const uploading = product.upload(COUNT, () => systemClock.sleep(RETRY_MS));
  const begun = Date.now();
  const third = COUNT / 3;
  const sql = await superuser(product.dir, 'sites');
  for (let count = 0; count < third; await systemClock.sleep(LOOK_MS)) count = (await endsSince(sql, begun)).length;
  await sql.end();
  const killed = Date.now();
  await product.crashAndRestart();
  await uploading;
  await product.idle();
  const again = await superuser(product.dir, 'sites');
  const ends = await endsSince(again, begun);
  await again.end();
  const before = ends.filter((at) => at < killed);
  const needed = (FULL * before.length * WINDOW_MS) / (killed - (before[0] ?? 0));
  const after = ends.filter((at) => at >= killed);
  for (const [n, at] of after.entries()) {
    const within = after.filter((other, m) => m >= n && other < at + WINDOW_MS).length;
    if (within >= needed) return at - killed;
  }
  throw new Error('it did not come back to its rate');
}

/** When installs ended, in ms since 1970, as the first target's control schema has it. */
const ENDS = `select extract(epoch from updated)::float8 * 1000 as at from alphadb_control.dataset_install_message
  where install_type = 'data' and status = 'complete'`;

/** When jobs ended since then, as the log has it. */
async function jobEnds(product: Product, since: number): Promise<readonly number[]> {
  const lines = (await readFile(join(product.dir, 'longshore.log'), 'utf8')).split('\n');
  return lines
    .filter((line) => line.includes('"msg":"job ended"'))
    .map((line) => Date.parse((JSON.parse(line) as { time: string }).time))
    .filter((at) => at >= since);
}

async function endsSince(sql: pg.Client, since: number): Promise<readonly number[]> {
  const { rows } = await sql.query<{ at: number }>(`${ENDS} and updated > to_timestamp($1) order by at`, [since / 1e3]);
  return rows.map(({ at }) => at);
}

const longest = (ends: readonly number[]): number => Math.max(...ends.map((at, n) => at - (ends[n - 1] ?? at)));
