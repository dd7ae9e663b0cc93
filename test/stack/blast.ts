// Databases made by the real `makeblastdb` and results of the real search programs, from sequences that a seed makes.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Molecule, QueryProgram } from '../../engine/model/report/query-job.ts';

const run = promisify(execFile);

const LETTERS: Readonly<Record<Molecule, string>> = { nucleotide: 'ACGT', protein: 'ACDEFGHIKLMNPQRSTVWY' };
const KINDS: Readonly<Record<Molecule, string>> = { nucleotide: 'nucl', protein: 'prot' };

export interface Sequence {
  /** What stands after `>`: the id, and words after it. */
  readonly title: string;
  readonly residues: string;
}

/** A directory that is removed at the end of the test. */
export async function blastDirectory(t: { teardown(fn: () => unknown): void }): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-blast-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function randomResidues(molecule: Molecule, length: number, random: () => number): string {
  const letters = LETTERS[molecule];
  return Array.from({ length }, () => letters.charAt(Math.floor(random() * letters.length))).join('');
}

/** Each residue is another one with that probability. */
export function mutated(residues: string, rate: number, molecule: Molecule, random: () => number): string {
  return [...residues].map((one) => (random() < rate ? randomResidues(molecule, 1, random) : one)).join('');
}

export const fasta = (sequences: readonly Sequence[]): string =>
  sequences.map(({ title, residues }) => `>${title}\n${residues}\n`).join('');

export interface DatabaseSpec {
  readonly dir: string;
  readonly name: string;
  readonly molecule: Molecule;
  readonly sequences: readonly Sequence[];
  /** Ids are kept as such, GI numbers too: results then do not depend on the places of sequences. */
  readonly parseIds?: boolean;
  readonly more?: readonly string[];
}

/** The database's path, which is its name for BLAST. */
export async function makeDatabase({ dir, name, molecule, sequences, parseIds, more }: DatabaseSpec): Promise<string> {
  const file = join(dir, `${name}.fa`);
  await writeFile(file, fasta(sequences));
  const ids = parseIds ? ['-parse_seqids'] : [];
  const args = ['-in', file, '-dbtype', KINDS[molecule], '-out', join(dir, name), '-title', name];
  await blast('makeblastdb', [...args, ...ids, ...(more ?? [])], dir);
  return join(dir, name);
}

/** An alias file that names the databases. */
export async function makeAlias(
  dir: string,
  name: string,
  databases: readonly string[],
  molecule: Molecule,
): Promise<string> {
  const list = ['-dblist', databases.join(' '), '-dbtype', KINDS[molecule], '-out', join(dir, name), '-title', name];
  await blast('blastdb_aliastool', list, dir);
  return join(dir, name);
}

/** Searches and leaves the archive, or another output of that number, at `out`. */
export async function search(
  program: QueryProgram,
  spec: { readonly dir: string; readonly database: string; readonly query: string; readonly out: string },
  more: readonly string[] = [],
  format = 11,
): Promise<void> {
  const { dir, database, query, out } = spec;
  await blast(program, ['-db', database, '-query', query, '-outfmt', String(format), '-out', out, ...more], dir);
}

/** Runs a program of BLAST+; its standard error when it ended well. */
export async function blast(program: string, args: readonly string[], dir: string): Promise<string> {
  const env = { PATH: process.env.PATH ?? '', HOME: dir, BLASTDB: dir, LANG: 'C', BLAST_USAGE_REPORT: 'false' };
  const { stderr } = await run(program, args, { cwd: dir, env, maxBuffer: 64 * 1024 * 1024 });
  return stderr;
}
