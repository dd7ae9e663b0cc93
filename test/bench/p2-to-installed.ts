// P2: from the answer to an upload until it is installed on two targets, one after the other on an idle machine, less the time
// that its scripts take by themselves.

import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Product } from './product.ts';
import { type BenchRow, DATASETS, latencies, type Round } from './row.ts';
import { FILE, GENES } from './subject.ts';

/** Of a round; a p99 needs a thousand of all rounds together. */
const COUNT = DATASETS ?? 200;
const WARM_UPS = 5;
const LOOK_MS = 2;
const run = promisify(execFile);

export const rows: readonly BenchRow[] = [
  {
    id: 'P2',
    title: 'from 202 to installed on two targets, idle machine, over the time of the scripts: p50; p99: of all rounds',
    unit: 'ms',
    better: 'lower',
    sides: {},
    bars: [{ atMost: 60 }, { of: 'p99', atMost: 150, unit: 'ms' }],
    async measure(rounds) {
      await using product = await Product.start();
      const installed = async (): Promise<number> => {
        const ids = await product.upload(1);
        const begun = performance.now();
        await product.installed(ids, LOOK_MS);
        const took = performance.now() - begun;
        await product.idle();
        return took;
      };
      for (let n = 0; n < WARM_UPS; n++) await installed();
      const all: number[] = [];
      const measured: Round[] = [];
      for (let round = 0; round < rounds; round++) {
        const [took, alone] = [[] as number[], [] as number[]];
        for (let n = 0; n < COUNT; n++) {
          took.push(await installed());
          alone.push(await scripts(product, `${round}-${n}`));
        }
        const bare = latencies(alone).p50;
        all.push(...took.map((ms) => ms - bare));
        measured.push({ ours: latencies(took).p50 - bare, untilInstalled: latencies(took).p50, scripts: bare });
      }
      const { p99, count } = latencies(all);
      return measured.map((round) => ({ ...round, p99, samples: count }));
    },
  },
];

/** Milliseconds of the scripts in their order: import, both of metadata at once, both installs at once. */
async function scripts(product: Product, name: string): Promise<number> {
  const cwd = join(product.dir, '..', 'bare', name);
  const [input, output, meta] = [join(cwd, 'input'), join(cwd, 'output'), join(cwd, 'meta.json')];
  await mkdir(input, { recursive: true });
  await mkdir(output);
  await writeFile(join(input, FILE), GENES);
  await writeFile(meta, '{}');
  const { dataCleaning, dataInstall, metaUpdate } = product.scripts;
  const { targets } = product.at;
  const onEach = (script: string, ...args: readonly string[]): Promise<unknown> =>
    Promise.all(
      targets.map((target) =>
        run(script, [name, ...args], { cwd, env: { PATH: process.env.PATH, DATA_FILES: join(cwd, target) } }),
      ),
    );
  const begun = performance.now();
  await run(dataCleaning, [input, output], { cwd, env: { PATH: process.env.PATH } });
  await onEach(metaUpdate, meta, cwd);
  await onEach(dataInstall, output);
  return performance.now() - begun;
}
