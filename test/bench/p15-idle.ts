// P15: memory of the whole idle stack with its PostgreSQL, how long it takes to start from nothing and again, and the same
// memory after thousands of datasets. What processes share is divided among them (proportional set size).

import { join } from 'node:path';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePortBase } from '../support/longshore.ts';
import { processTree, proportionalMb } from './processes.ts';
import { Product } from './product.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import { emptyDir, FROM_SOURCE, StartedUp } from './started-up.ts';

/** Idle worker threads end after 60 s. What the start or the work needed is gone by then. */
const IDLE_MS = 90_000;
const COUNT = DATASETS ?? 10_000;
/** Uploaded before the next are: fewer than one user may have waiting. */
const BATCH = Math.min(COUNT, 500);

export const rows: readonly BenchRow[] = [
  {
    id: 'P15a',
    title: 'longshore up with its PostgreSQL: memory when idle; seconds to start from nothing, and again',
    unit: 'MB',
    better: 'lower',
    sides: {},
    bars: [{ atMost: 220 }, { of: 'cold', atMost: 4, unit: 's' }, { of: 'warm', atMost: 2, unit: 's' }],
    async measure(rounds) {
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) {
        await using dir = await emptyDir();
        const data = join(dir.path, 'data');
        const portBase = await freePortBase();
        await using cold = await StartedUp.start(FROM_SOURCE, data, portBase);
        const end = await cold.stop();
        await using warm = await StartedUp.start(FROM_SOURCE, data, portBase);
        await systemClock.sleep(IDLE_MS);
        const ours = proportionalMb(processTree(warm.pid));
        measured.push({ ours, cold: cold.readySeconds, warm: warm.readySeconds, end });
      }
      return measured;
    },
  },
  {
    id: 'P15b',
    title: `memory of the idle stack after ${COUNT} datasets, against that before`,
    unit: 'MB',
    better: 'lower',
    sides: { before: { is: 'anchor', what: 'the same stack before' } },
    bars: [{ over: 'before', atMost: 1.1 }],
    // Takes as long as thousands of datasets take.
    rounds: 1,
    async measure(rounds) {
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) {
        await using product = await Product.start();
        const idleMb = async (): Promise<number> => {
          await product.idle();
          await systemClock.sleep(IDLE_MS);
          return proportionalMb(product.at.processes());
        };
        const before = await idleMb();
        for (let done = 0; done < COUNT; done += BATCH) await product.installed(await product.upload(BATCH), 200);
        measured.push({ ours: await idleMb(), before });
      }
      return measured;
    },
  },
];
