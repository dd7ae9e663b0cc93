// A search whose result is large: 50 queries with 1,200 hits each, an archive of about 62 MB.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReportSite } from '../support/report-site.ts';
import { run } from '../support/run-command.ts';
import { fasta, makeDatabase, mutated, randomNumbers, randomResidues } from './blast.ts';

export const QUERIES = 50;
export const HITS = 1_200;
const LENGTH = 600;

export interface LargeSearch {
  readonly id: string;
  /** Its file. */
  readonly archive: string;
}

export async function largeSearch(site: Pick<ReportSite, 'config' | 'databases' | 'queryJobs'>): Promise<LargeSearch> {
  const random = randomNumbers(9);
  const core = randomResidues('nucleotide', LENGTH, random);
  const copies = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      title: `${name}${i}`,
      residues: mutated(core, 0.02, 'nucleotide', random),
    }));
  const dir = site.databases;
  await makeDatabase({ dir, name: 'large', molecule: 'nucleotide', sequences: copies('s', HITS) });
  const file = join(dir, 'queries.fa');
  await writeFile(file, fasta(copies('q', QUERIES)));
  const args = ['--config', site.config, '--program', 'blastn', '--db', 'large', '--query', file];
  const { out, err } = await run('query', ['run', ...args, '--max-target-seqs', String(HITS)], {
    PATH: process.env.PATH,
  });
  const id = out.trim();
  if (id === '') throw new Error(`the search failed: ${err}`);
  return { id, archive: join(site.queryJobs, id, 'report.asn1') };
}
