// M22: small datasets that are all uploaded at once, until the last is installed on two targets, beside the same scripts
// run by two shells and nothing around them.

import { openedOnce } from './opened-once.ts';
import type { BenchRow } from './row.ts';
import { scriptSite } from './script-site.ts';

/** Of a round. The rate is that of 1,000: it is reached after some dozens. */
const DATASETS = 100;
const WARM_UP = 50;

const sites = openedOnce(() => scriptSite('shell'));
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  {
    id: 'M22',
    title: `${DATASETS} small datasets uploaded at once, until installed on two targets, scripts of /bin/sh`,
    unit: 'datasets/s',
    better: 'higher',
    sides: { loop: { is: 'limit', what: 'the same five scripts of each dataset by two shells, two at a time' } },
    bars: [{ over: 'loop', atLeast: 0.8 }],
    async measure(rounds) {
      const site = await sites.get();
      const once = async (datasets: number): Promise<{ readonly took: number; readonly accepted: number }> => {
        const begun = performance.now();
        const ids = await site.upload(datasets);
        const accepted = performance.now() - begun;
        await site.installed(ids);
        const took = performance.now() - begun;
        await site.idle();
        return { took, accepted };
      };
      await once(WARM_UP);
      const measured = [];
      for (let round = 0; round < rounds; round++) {
        const { took, accepted } = await once(DATASETS);
        const alone = await site.loop(DATASETS);
        const rate = (ms: number): number => (DATASETS / ms) * 1_000;
        measured.push({ ours: rate(took), loop: rate(alone), acceptedPerSecond: rate(accepted) });
      }
      return measured;
    },
  },
];
