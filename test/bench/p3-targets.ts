// P3: what one more install target costs: processor time of everything but the scripts, for datasets on 1, 2 and 10 targets.

import { systemClock } from '../../engine/runtime/time.ts';
import { cpuOf } from './counts.ts';
import { Product } from './product.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';

const COUNT = DATASETS ?? 100;
const WARM_UP = Math.min(COUNT, 20);
const [ONE, MANY] = [1, 10];
const LOOK_MS = 50;

export const rows: readonly BenchRow[] = [
  {
    id: 'P3',
    title: `processor time that one more target costs, ${COUNT} datasets on ${ONE}, 2 and ${MANY} targets`,
    unit: 'ms',
    better: 'lower',
    sides: {},
    bars: [{ atMost: 8 }, { of: 'cpuOf10', over: 'cpuOf1', atMost: 2 }],
    async measure(rounds) {
      await using stack = new AsyncDisposableStack();
      const products = new Map<number, Product>();
      for (const targets of [ONE, 2, MANY]) products.set(targets, stack.use(await Product.start({ targets })));
      for (const product of products.values()) await cpuMs(product, WARM_UP);
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) {
        const round: Record<string, number> = {};
        for (const [targets, product] of products) round[`cpuOf${targets}`] = await cpuMs(product, COUNT);
        const ours = ((round[`cpuOf${MANY}`] ?? 0) - (round[`cpuOf${ONE}`] ?? 0)) / (MANY - ONE);
        measured.push({ ...round, ours });
      }
      return measured;
    },
  },
];

/** Per dataset, less what an idle stack takes in the same time. */
async function cpuMs(product: Product, datasets: number): Promise<number> {
  const [idleBegun, idleAt] = [cpuOf(product), performance.now()];
  await systemClock.sleep(2_000);
  const [begun, at] = [cpuOf(product), performance.now()];
  await product.installed(await product.upload(datasets), LOOK_MS);
  await product.idle();
  const idle = ((begun - idleBegun) / (at - idleAt)) * (performance.now() - at);
  return ((cpuOf(product) - begun - idle) * 1_000) / datasets;
}
