// P4: a dataset of 1 GiB from its upload until it is installed on two targets: bytes written to disk per byte of payload, with
// scripts that write nothing themselves; MB a second beside the honest twin; growth of the server's resident memory.

import { cancelledBytes, forgetPeak, peakMib, residentMib, writtenBytes } from './processes.ts';
import { Product } from './product.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import type { Subject } from './subject.ts';
import { Twin } from './twin-site.ts';

/** Of a short run, `--datasets` are MiB. */
const MIB = DATASETS ?? 1_024;
const BYTES = MIB * 1024 ** 2;
const LOOK_MS = 20;

export const rows: readonly BenchRow[] = [
  {
    id: 'P4',
    title: `a dataset of ${MIB} MiB from upload to installed on two targets: bytes written per byte`,
    unit: 'x payload',
    better: 'lower',
    sides: { twin: { is: 'anchor', what: 'the honest twin' } },
    bars: [
      { atMost: 4 },
      { of: 'mbPerSecond', over: 'mbPerSecondOfTwin', atLeast: 0.7 },
      { of: 'growthMib', atMost: 32, unit: 'MiB' },
    ],
    async measure(rounds) {
      await using ours = await Product.start({ scripts: 'large' });
      await using twin = await Twin.start('large');
      for (const subject of [ours, twin]) await one(subject, 1);
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) {
        const [mine, plain] = [await one(ours, MIB), await one(twin, MIB)];
        measured.push({
          ...{ ours: mine.written, twin: plain.written, growthMib: mine.growthMib, growthMibOfTwin: plain.growthMib },
          ...{ cancelled: mine.cancelled, cancelledOfTwin: plain.cancelled },
          ...{ mbPerSecond: mine.mbPerSecond, mbPerSecondOfTwin: plain.mbPerSecond },
        });
      }
      return measured;
    },
  },
];

async function one(subject: Subject, mib: number) {
  const { at } = subject;
  const [written, cancelled] = [writtenBytes(at.processes()), cancelledBytes(at.processes())];
  const resident = residentMib(at.server);
  forgetPeak(at.server);
  const begun = performance.now();
  await subject.installed([await subject.uploadLarge(mib)], LOOK_MS);
  const seconds = (performance.now() - begun) / 1_000;
  await subject.idle();
  return {
    written: (writtenBytes(at.processes()) - written) / BYTES,
    cancelled: (cancelledBytes(at.processes()) - cancelled) / BYTES,
    mbPerSecond: BYTES / 1e6 / seconds,
    growthMib: peakMib(at.server) - resident,
  };
}
