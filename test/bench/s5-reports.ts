// S5: reports of an archive of 62 MB, from the request to `complete`, beside the bare formatter.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type FormatType, formatNumber } from '../../engine/model/report/format-types.ts';
import { type LargeSearch, largeSearch } from '../stack/large-search.ts';
import { type ReportSite, reportSite } from '../support/report-site.ts';
import { openedOnce } from './opened-once.ts';
import type { BenchRow, Round } from './row.ts';

const TYPES = [
  ['a', 'pairwise'],
  ['b', 'xml'],
  ['c', 'tabular'],
] as const satisfies readonly (readonly [string, FormatType])[];
/** More than there are hits: the report is the same, and the job another one. */
const FIRST_LIMIT = 10_000;
/** One round that is not counted: the archive is in the system's cache afterwards. */
const WARM_UPS = 1;

export interface ReportBench extends AsyncDisposable {
  readonly site: ReportSite;
  readonly search: LargeSearch;
}

export async function reportBench(): Promise<ReportBench> {
  const cleanup: (() => unknown)[] = [];
  const t = { teardown: (fn: () => unknown): void => void cleanup.unshift(fn) };
  const site = await reportSite(t, 'exec /usr/bin/blast_formatter "$@"');
  const search = await largeSearch(site);
  await site.start();
  return {
    site,
    search,
    async [Symbol.asyncDispose]() {
      for (const fn of cleanup) await fn();
    },
  };
}

const sites = openedOnce(reportBench);
export const close = sites.close;

export const rows: readonly BenchRow[] = TYPES.map(
  ([letter, type]): BenchRow => ({
    id: `S5${letter}`,
    title: `a report as ${type} of an archive of 62 MB, from the request to complete`,
    unit: 'ms',
    better: 'lower',
    sides: { bare: { is: 'limit', what: 'blast_formatter alone, on the same archive with the same options' } },
    bars: [{ over: 'bare', atMost: 1.6 }],
    async measure(rounds) {
      const { site, search } = await sites.get();
      const measured: Round[] = [];
      for (let round = -WARM_UPS; round < rounds; round++) {
        const limit = FIRST_LIMIT + round;
        const ours = await timeOf(() => report(site, search, { formatType: type, maxTargetSequences: limit }));
        const alone = await timeOf(() => bare(site, search, type, limit));
        if (round >= 0) measured.push({ ours, bare: alone });
      }
      return measured;
    },
  }),
);

async function report(site: ReportSite, { id }: LargeSearch, config: object): Promise<void> {
  const job = await site.submit(id, config);
  if ((await site.ended(job)) !== 'complete') throw new Error(await site.stderr(job));
}

async function bare(site: ReportSite, { archive }: LargeSearch, type: FormatType, limit: number): Promise<void> {
  const number = formatNumber(type);
  const most =
    number > 4 ? ['-max_target_seqs', `${limit}`] : ['-num_descriptions', `${limit}`, '-num_alignments', `${limit}`];
  const args = ['-archive', archive, '-out', join(site.dir, 'bare'), '-outfmt', `${number}`, ...most];
  const env = { PATH: process.env.PATH, HOME: site.dir, BLASTDB: site.databases, BLAST_USAGE_REPORT: 'false' };
  await promisify(execFile)('/usr/bin/blast_formatter', args, { cwd: site.dir, env });
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
