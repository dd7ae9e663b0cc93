// Memory of the service stays flat, however large reports are: an archive of 62 MB, reports of more than 100 MB, one of
// them in 51 files, made side by side, packed, kept and downloaded.

import { readFileSync, statSync } from 'node:fs';
import t from 'tap';
import { reportSite } from '../support/report-site.ts';
import { largeSearch, QUERIES } from './large-search.ts';

const ALLOWED_MIB = 64;
const MIB = 1024 * 1024;

const site = await reportSite(t, 'exec /usr/bin/blast_formatter "$@"');
const { id, archive } = await largeSearch(site);
const service = await site.start();

/** Highest resident memory that the process ever had, in MiB; its threads are part of it, formatters are not. */
function peakMib(): number {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** Bytes of the reports, made at once, and read one after the other. */
async function make(configs: readonly object[]): Promise<readonly number[]> {
  const ids = await Promise.all(configs.map((config) => site.submit(id, config)));
  const sizes: number[] = [];
  for (const job of ids) {
    if ((await site.ended(job)) !== 'complete') throw new Error(await site.stderr(job));
    let bytes = 0;
    for (const [name, file] of await site.files(job)) if (name !== 'report.zip') bytes += file.length;
    sizes.push(bytes);
  }
  return sizes;
}

t.test('reports of 62 MB of results', async (t) => {
  t.ok(statSync(archive).size > 60e6, `${statSync(archive).size} bytes`);
  // As many at once as there are workers, of 26 and 39 MB, so that every thread has had its buffers by then.
  for (const most of [200, 300])
    await make(
      ['xml', 'multi-file-blast-json', 'single-file-blast-json', 'csv'].map((formatType) => ({
        ...{ formatType, maxTargetSequences: most },
      })),
    );
  const before = peakMib();
  const [xml = 0, several = 0] = await make([{ formatType: 'xml' }, { formatType: 'multi-file-blast-json' }]);
  t.ok(xml > 100 * MIB, `${xml} bytes of XML`);
  t.ok(several > 100 * MIB, `${several} bytes in ${QUERIES + 1} files`);
  const more = peakMib() - before;
  t.comment(`peak of small reports ${before.toFixed(0)} MiB, of large ones ${more.toFixed(0)} MiB more`);
  t.ok(more < ALLOWED_MIB, `the peak grew by ${more.toFixed(0)} MiB`);
  t.equal(await service.stop(), 0);
});
