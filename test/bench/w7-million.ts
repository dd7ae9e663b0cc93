// W7: a million datasets for real: objects in the store, rows in the cache and on the target. The running program lists them,
// compares all of them, compares parts of them, and prunes a tenth. One round, as it takes hours.

import { tempDir } from '../support/longshore.ts';
import {
  counts,
  lastRun,
  listed,
  nextSlimRun,
  ordered,
  type Phase,
  phase,
  prune,
  RECONCILE,
  type Run,
  register,
  startScale,
} from '../support/scale-run.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';

const COUNT = DATASETS ?? 1_000_000;
const SLIM_RUNS = 3;
/** The default interval. */
const SLIM_SECONDS = 300;

export const rows: readonly BenchRow[] = [
  {
    id: 'W7',
    watched: true,
    rounds: 1,
    title: `datasets a second of a full run, ${COUNT} datasets of 4 objects on one target; a tenth is pruned`,
    unit: 'datasets/s',
    better: 'higher',
    sides: {},
    bars: [{ atLeast: 1_000 }, { of: 'slim % of a core', atMost: 2, unit: '%' }],
    async measure(rounds) {
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) measured.push(await round());
      return measured;
    },
  },
];

async function round(): Promise<Round> {
  const cleanup: (() => unknown)[] = [];
  const t = { teardown: (fn: () => unknown): void => void cleanup.unshift(fn) };
  try {
    const figures: Record<string, number> = {};
    const begun = performance.now();
    const site = await startScale(t, await tempDir(t));
    const { live, deleted } = await register(site, COUNT);
    figures['s to register'] = (performance.now() - begun) / 1000;
    const tell = (name: string, { seconds, cpuSeconds, peakMb }: Phase): void => {
      Object.assign(figures, { [`${name} s`]: seconds, [`${name} CPU s`]: cpuSeconds, [`${name} peak MB`]: peakMb });
      console.log(
        `  ${name}: ${seconds.toFixed(1)} s, CPU ${cpuSeconds.toFixed(1)} s, at most ${peakMb.toFixed(0)} MB`,
      );
    };
    console.log(`  registered in ${figures['s to register']?.toFixed(0)} s`);
    expect(await counts(site), { store: COUNT, installed: live, jobs: 0, wrongUsages: 0 });
    let full: Run | undefined;
    tell(
      'full',
      await phase(site, async () => {
        full = await ordered(site, RECONCILE);
      }),
    );
    expect(full, { listed: COUNT, reconciled: 0, deleted: 0 });
    tell(
      'lists',
      await phase(site, async () => {
        for (const [name, path] of LISTS) figures[`${name} ms`] = await msOf(site, name, path);
      }),
    );
    let slim = await lastRun(site.app, RECONCILE);
    let compared = 0;
    const slims = await phase(site, async () => {
      for (let n = 0; n < SLIM_RUNS; n++) {
        slim = await nextSlimRun(site, slim);
        expect(slim, { reconciled: 0 });
        compared += slim.listed ?? 0;
      }
    });
    tell('slim', slims);
    figures['slim % of a core'] = (slims.cpuSeconds / SLIM_RUNS / SLIM_SECONDS) * 100;
    figures['compared by a slim run'] = compared / SLIM_RUNS;
    let pruned: Run | undefined;
    const pruning = await phase(site, async () => {
      pruned = await prune(site);
    });
    tell('prune', pruning);
    expect(pruned, { pruned: deleted, failures: 0 });
    expect(await counts(site), { store: live, installed: live, onSite: live, jobs: 0, wrongUsages: 0 });
    figures['pruned/s'] = deleted / pruning.seconds;
    return { ours: COUNT / (figures['full s'] as number), ...figures };
  } finally {
    for (const fn of cleanup) await fn();
  }
}

const DEEP = Math.floor(COUNT * 0.85);
const LISTS = [
  ['first page of an owner', '/datasets?limit=100'],
  ['deep page of an owner', `/datasets?limit=100&offset=${Math.floor(COUNT * 0.09)}`],
  ['whole list of an owner', '/datasets'],
  ['first page of the community', '/datasets/community?limit=100'],
  ['deep page of the community', `/datasets/community?limit=100&offset=${Math.floor(COUNT * 0.09)}`],
  ['first page of all', '/admin/reports/datasets/list-all?limit=100'],
  ['deep page of all', `/admin/reports/datasets/list-all?limit=100&offset=${DEEP}`],
] as const;

/** The best of three. */
async function msOf(site: Parameters<typeof listed>[0], name: string, path: string): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 3; n++) {
    const { ms, count } = await listed(site, path);
    if (path.includes('limit') && count !== Math.min(100, count)) throw new Error(`${path}: ${count} datasets`);
    if (count === 0) throw new Error(`${path}: no datasets`);
    best = Math.min(best, ms);
  }
  console.log(`  ${name}: ${best.toFixed(0)} ms`);
  return best;
}

function expect(found: object | undefined, expected: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(expected)) {
    const is = (found as Readonly<Record<string, unknown>> | undefined)?.[name];
    if (is !== value) throw new Error(`${name} is ${is} instead of ${value}: ${JSON.stringify(found)}`);
  }
}
