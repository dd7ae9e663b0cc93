// P1: small datasets of 20 users, uploaded as fast as they are accepted, until the last is installed on two targets; beside
// the honest twin, and with `--against DIR` beside the program of another checkout.

import { countsOf } from './counts.ts';
import { Product } from './product.ts';
import { AGAINST, type BenchRow, DATASETS, type Round } from './row.ts';
import type { Subject } from './subject.ts';
import { Twin } from './twin-site.ts';

const COUNT = DATASETS ?? 1_000;
const WARM_UP = Math.min(COUNT, 50);
/** Of a round of counts, which are the same for many. */
const COUNTED = Math.min(COUNT, 200);
/** One look is under one in a hundred of a round. */
const LOOK_MS = 50;

export const rows: readonly BenchRow[] = [
  {
    id: 'P1a',
    title: `${COUNT} small datasets of 20 users, uploads included, until installed on two targets`,
    unit: 'datasets/s',
    better: 'higher',
    sides: {
      twin: { is: 'anchor', what: 'the honest twin: twin.ts' },
      ...(AGAINST === undefined ? {} : { against: { is: 'anchor', what: `the program of ${AGAINST}` } }),
    },
    bars: [{ over: 'twin', atLeast: 0.5 }, ...(AGAINST === undefined ? [] : [{ over: 'against', atLeast: 3 }])],
    async measure(rounds) {
      await using stack = new AsyncDisposableStack();
      const subjects: Record<string, Subject> = { ours: stack.use(await Product.start()) };
      subjects.twin = stack.use(await Twin.start());
      if (AGAINST !== undefined) subjects.against = stack.use(await Product.start({ checkout: AGAINST }));
      for (const subject of Object.values(subjects)) await rate(subject, WARM_UP);
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) {
        const round: Record<string, number> = {};
        for (const [name, subject] of Object.entries(subjects)) round[name] = await rate(subject, COUNT);
        measured.push(round as Round);
      }
      return measured;
    },
  },
  {
    id: 'P1b',
    title: `counts per dataset of P1: processor time, statements, commits, fsyncs of the store (strace)`,
    unit: 'ms',
    better: 'lower',
    sides: { twin: { is: 'anchor', what: 'processor time of the honest twin' } },
    bars: [
      { atMost: 50 },
      { of: 'statements', atMost: 25, unit: 'statements' },
      { of: 'commits', atMost: 12, unit: 'commits' },
      { of: 'fsyncs', atMost: 8, unit: 'fsyncs' },
    ],
    async measure(rounds) {
      await using ours = await Product.start({ counted: true });
      await using twin = await Twin.start('small', true);
      for (const subject of [ours, twin]) await rate(subject, WARM_UP);
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) {
        const { cpuMs, ...counts } = await countsOf(ours, COUNTED);
        const plain = await countsOf(twin, COUNTED);
        measured.push({
          ...{ ours: cpuMs, ...counts, twin: plain.cpuMs, statementsOfTwin: plain.statements },
          ...{ commitsOfTwin: plain.commits, fsyncsOfTwin: plain.fsyncs },
        });
      }
      return measured;
    },
  },
];

async function rate(subject: Subject, datasets: number): Promise<number> {
  const begun = performance.now();
  await subject.installed(await subject.upload(datasets), LOOK_MS);
  const took = performance.now() - begun;
  await subject.idle();
  return (datasets / took) * 1_000;
}
