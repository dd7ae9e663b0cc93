// Several processes with one configuration, on the real services; the last line is `N passed, N failed`.
//   node test/stack/scale-out/run.ts [--datasets N]   uploaded through three processes, 2,000 by default
//        .. [--kills N] [--every SECONDS]             of processes with -9, each started again; 10, 30 s apart
//        .. [--outages] [--away SECONDS]              each service goes away in turn, for 30 s
//        .. [--throughput N]                          with so many datasets three processes are measured against one;
//                                                     by default 240; 0: not at all
//        .. [--seed N]                                which processes are killed

import { parseArgs } from 'node:util';
import { durability } from './durability.ts';
import { mainOf, wholeNumber } from './main.ts';
import { throughput } from './throughput.ts';

const { values } = parseArgs({
  options: {
    datasets: { type: 'string', default: '2000' },
    kills: { type: 'string', default: '10' },
    every: { type: 'string', default: '30' },
    outages: { type: 'boolean', default: false },
    away: { type: 'string', default: '30' },
    throughput: { type: 'string', default: '240' },
    seed: { type: 'string', default: '1' },
  },
});
const number = (name: 'datasets' | 'kills' | 'every' | 'away' | 'throughput' | 'seed'): number =>
  wholeNumber(name, values[name]);

process.exitCode = await mainOf('longshore-scale-out-postgres-', async (stopped, findings) => {
  const measured = number('throughput');
  if (measured > 0) await throughput(measured, stopped, findings);
  const datasets = number('datasets');
  if (datasets > 0)
    await durability(
      {
        datasets,
        kills: number('kills'),
        every: number('every') * 1000,
        outages: values.outages,
        away: number('away') * 1000,
        random: seeded(number('seed')),
      },
      stopped,
      findings,
    );
});

/** The same numbers from 0 to 1 for the same seed. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
