// A real search for the reports of a running program, of sequences that a seed makes.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fasta, makeDatabase, mutated, randomNumbers, randomResidues } from '../../stack/blast.ts';
import { longshore, type Up } from '../../support/longshore.ts';

/** Makes the database that is searched; another seed makes another one in its place. @returns what all of its sequences are like */
export async function grasses({ dir }: Pick<Up, 'dir'>, seed: number): Promise<string> {
  const random = randomNumbers(seed);
  const core = randomResidues('nucleotide', 400, random);
  const sequences = Array.from({ length: 300 }, (_, i) => ({
    title: `grass${i} leaf wax gene ${i}`,
    residues: mutated(core, 0.0005 * i, 'nucleotide', random),
  }));
  const folder = join(dir, 'blast');
  await mkdir(folder, { recursive: true });
  await makeDatabase({ dir: folder, name: 'grasses', molecule: 'nucleotide', sequences });
  return core;
}

/** @returns the id of the query job */
export async function searched({ dir }: Pick<Up, 'dir'>): Promise<string> {
  const query = join(dir, 'query.fa');
  await writeFile(query, fasta([{ title: 'leaf', residues: await grasses({ dir }, 4) }]));
  const { code, stdout, stderr } = await longshore([
    ...['query', 'run', '--data', dir, '--program', 'blastn', '--db', 'grasses', '--query', query],
  ]);
  if (code !== 0) throw new Error(`query run: ${stderr}`);
  return stdout.trim();
}
