// M21: from the answer to an upload until it is installed on two targets, beside the time that its scripts take by themselves.

import { openedOnce } from './opened-once.ts';
import { type BenchRow, latencies } from './row.ts';
import { type ScriptSite, scriptSite } from './script-site.ts';

const WARM_UPS = 3;

const sample = openedOnce(() => scriptSite('sample'));
const shell = openedOnce(() => scriptSite('shell'));
export const close = async (): Promise<void> => {
  await sample.close();
  await shell.close();
};

export const rows: readonly BenchRow[] = [
  row('a', 'the sample plugin for gene lists', 5, sample.get),
  row('b', 'scripts of /bin/sh', 25, shell.get),
];

function row(letter: string, plugin: string, datasets: number, site: () => Promise<ScriptSite>): BenchRow {
  return {
    id: `M21${letter}`,
    title: `from 202 to installed on two targets, idle embedded stack, ${plugin}`,
    unit: 'ms',
    better: 'lower',
    sides: { scripts: { is: 'limit', what: 'the same scripts by themselves: import, two installs, two of metadata' } },
    bars: [
      { of: 'overP50', atMost: 300, unit: 'ms' },
      { of: 'overP99', atMost: 1_000, unit: 'ms' },
    ],
    async measure(rounds) {
      const at = await site();
      for (let n = 0; n < WARM_UPS; n++) await installed(at);
      const measured = [];
      for (let round = 0; round < rounds; round++) {
        const [took, alone] = [[] as number[], [] as number[]];
        for (let n = 0; n < datasets; n++) {
          took.push(await installed(at));
          alone.push(await at.inOrder());
        }
        const [ours, scripts] = [latencies(took), latencies(alone)];
        measured.push({
          ...{ ours: ours.p50, scripts: scripts.p50, p99: ours.p99 },
          ...{ overP50: ours.p50 - scripts.p50, overP99: ours.p99 - scripts.p50 },
        });
      }
      return measured;
    },
  };
}

async function installed(site: ScriptSite): Promise<number> {
  const ids = await site.upload(1);
  const begun = performance.now();
  await site.installed(ids);
  const took = performance.now() - begun;
  await site.idle();
  return took;
}
