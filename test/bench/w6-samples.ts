// W6: what a newcomer sees. `longshore up` with its sample plugins; four clients, each of which uploads a gene list, waits until
// it is installed on two targets, and uploads the next.

import { readFileSync } from 'node:fs';
import { systemClock } from '../../engine/runtime/time.ts';
import { cpuOf } from './counts.ts';
import { cpuSeconds, processTree } from './processes.ts';
import { Product } from './product.ts';
import { AGAINST, type BenchRow, DATASETS, type Round } from './row.ts';

const CLIENTS = 4;
const COUNT = DATASETS ?? 200;
const WARM_UP = Math.min(COUNT, 20);
const LOOK_MS = 20;
/** Of a dataset on two targets without dependencies: import, and two on each. */
const SCRIPTS = 5;

export const rows: readonly BenchRow[] = [
  {
    id: 'W6',
    watched: true,
    title: `${COUNT} gene lists of ${CLIENTS} clients with the sample plugins, until installed on two targets`,
    ...{ unit: 'datasets/s', better: 'higher' },
    sides: AGAINST === undefined ? {} : { against: { is: 'anchor', what: `the program of ${AGAINST}` } },
    bars: [
      { atLeast: 10 },
      { of: 'CPU ms a script', atMost: 5, unit: 'ms' },
      ...(AGAINST === undefined ? [] : [{ over: 'against', atLeast: 1 }]),
    ],
    measure,
  },
];

async function measure(rounds: number): Promise<readonly Round[]> {
  await using stack = new AsyncDisposableStack();
  const ours = stack.use(await Product.start({ scripts: 'samples' }));
  const against =
    AGAINST === undefined ? undefined : stack.use(await Product.start({ scripts: 'samples', checkout: AGAINST }));
  for (const product of [ours, against]) if (product) await rate(product, WARM_UP);
  const measured: Round[] = [];
  for (let n = 0; n < rounds; n++) {
    const own = await rate(ours, COUNT);
    const other = against && (await rate(against, COUNT));
    measured.push({
      ...{ ours: own.datasets, 'CPU ms a script': own.scriptMs, 'CPU ms a dataset': own.datasetMs },
      ...(other && { against: other.datasets, 'CPU ms a script, against': other.scriptMs }),
    });
  }
  return measured;
}

interface Rate {
  /** A second. */
  readonly datasets: number;
  /** Processor time of a script, and of all processes for a dataset. */
  readonly scriptMs: number;
  readonly datasetMs: number;
}

async function rate(product: Product, datasets: number): Promise<Rate> {
  const [scripts, all] = [scriptSeconds(product), cpuOf(product)];
  const begun = performance.now();
  let left = datasets;
  let looked: Promise<unknown> = Promise.resolve();
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const ids = await product.upload(1);
      // One connection looks for all clients, one after the other.
      for (let isSo = false; !isSo; ) {
        const look = looked.then(() => product.isInstalled(ids));
        looked = look;
        isSo = await look;
        if (!isSo) await systemClock.sleep(LOOK_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const took = performance.now() - begun;
  await product.idle();
  const now = scriptSeconds(product);
  const [ended, resident] = [now.ended - scripts.ended, now.resident - scripts.resident];
  return {
    datasets: (datasets / took) * 1_000,
    scriptMs: ((ended + resident) * 1_000) / (SCRIPTS * datasets),
    // The resident process is one of the product's.
    datasetMs: ((ended + cpuOf(product) - all) * 1_000) / datasets,
  };
}

interface ScriptSeconds {
  /** Of scripts that have ended. */
  readonly ended: number;
  /** Of the process that runs them for their launchers. */
  readonly resident: number;
}

/**
 * Processor time so far; PostgreSQL's work for scripts is not counted. Call it while these processes run, which end when they
 * are idle for a minute.
 */
function scriptSeconds({ at }: Product): ScriptSeconds {
  const tree = processTree(at.server);
  const called = (word: string): number[] => tree.filter((pid) => commandLine(pid).includes(word));
  const ended = (pid: number): number => cpuSeconds([pid], pid) - cpuSeconds([pid]);
  const spawners = [at.server, ...called('spawn-scripts')];
  return {
    ended: spawners.reduce((all, pid) => all + ended(pid), 0),
    resident: cpuSeconds(called('sample-scripts')),
  };
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // gone meanwhile
  }
}
