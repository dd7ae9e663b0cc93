// manifest.txt of an RNA-Seq upload: which file belongs to which sample, and how its library was made.
//   SAMPLE <TAB> FILE <TAB> unstranded|sense|antisense [<TAB> BIGWIG FILE]

import { basename } from 'node:path';
import { bytesOf, LIMITS, tooLong } from './limits.ts';
import type { DelimitedRow } from './row-parser.ts';
import { Faults, Refusal, shown } from './sample.ts';

export const MANIFEST = 'manifest.txt';

const STRANDS = ['unstranded', 'sense', 'antisense'];
const FORM = 'SAMPLE<TAB>FILE<TAB>unstranded|sense|antisense, and optionally <TAB>BIGWIG FILE';

export interface ManifestEntry {
  readonly sample: string;
  /** Path of the table below the upload's top. */
  readonly file: string;
  readonly strand: string;
  readonly bigWig: string | undefined;
}

/** Path of the one manifest among the files; it may stand in a folder. */
export function findManifest(files: readonly string[]): string {
  const found = files.filter((file) => key(basename(file)) === MANIFEST);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length > 1)
    throw new Refusal([
      `there must be one ${MANIFEST}; found ${found.length}: ${found.slice(0, 5).map(shown).join(', ')}`,
    ]);
  const example = basename(files[0] ?? 'M1.tabular');
  throw new Refusal([
    `${MANIFEST} is missing: add a text file named ${MANIFEST} to the upload with one line per sample`,
    `each line of ${MANIFEST} must be: ${FORM}`,
    `for example: ${example.replace(/\.[^.]*$/, '')}<TAB>${example}<TAB>unstranded`,
  ]);
}

/**
 * The entries, with their files found among `files` by path (from the top or from the manifest's folder) or by a base
 * name that only one file has. Every file must be listed and every listed one be there.
 */
export async function readManifest(
  rows: AsyncIterable<DelimitedRow>,
  manifest: string,
  files: readonly string[],
): Promise<readonly ManifestEntry[]> {
  const faults = new Faults();
  const samples = new Set<string>();
  const unlisted = new Set(files.filter((file) => file !== manifest));
  const find = finder(files, manifest.slice(0, -basename(manifest).length));
  const entries: ManifestEntry[] = [];
  for await (const { line, cells } of rows) {
    const [sample = '', listed = '', strand = '', listedBigWig] = cells.map((cell) => cell.trim());
    if (cells.every((cell) => cell.trim() === '')) continue;
    const where = `${MANIFEST}, line ${line}`;
    if (cells.length < 3 || cells.length > 4 || sample === '' || listed === '') {
      faults.add(`${where}: ${shown(cells.join('\t'))} is not of the form ${FORM}`);
      continue;
    }
    const bytes = bytesOf(sample);
    if (bytes > LIMITS.sampleBytes)
      faults.add(`${where}: sample ${shown(sample)} ${tooLong(bytes, LIMITS.sampleBytes)}`);
    if (!STRANDS.includes(strand)) faults.add(`${where}: strand ${shown(strand)} must be one of ${STRANDS.join(', ')}`);
    if (samples.has(sample)) faults.add(`${where}: sample ${shown(sample)} stands twice`);
    samples.add(sample);
    const file = find(listed);
    const bigWig = listedBigWig === undefined || listedBigWig === '' ? undefined : find(listedBigWig);
    if (file === undefined) faults.add(`${where}: file ${shown(listed)} is not in the upload`);
    if (listedBigWig && bigWig === undefined) faults.add(`${where}: file ${shown(listedBigWig)} is not in the upload`);
    for (const used of [file, bigWig]) {
      if (used !== undefined && !unlisted.delete(used)) faults.add(`${where}: file ${shown(used)} is listed twice`);
    }
    if (file !== undefined) entries.push({ sample, file, strand, bigWig });
  }
  for (const file of unlisted) faults.add(`file ${shown(file)} is not listed in ${MANIFEST}`);
  faults.check();
  if (entries.length === 0) throw new Refusal([`${MANIFEST} is empty; each line must be: ${FORM}`]);
  return entries;
}

function finder(files: readonly string[], folder: string): (listed: string) => string | undefined {
  const paths = new Map(files.map((file) => [key(file), file]));
  const names = new Map<string, string | undefined>();
  for (const file of files) names.set(key(basename(file)), names.has(key(basename(file))) ? undefined : file);
  return (listed) => {
    const wanted = key(listed).replace(/^(?:\.\/)+/, '');
    return paths.get(key(folder) + wanted) ?? paths.get(wanted) ?? names.get(wanted);
  };
}

/**
 * By which names are compared, the same on both sides: those of an upload are NFC and have `/` between folders, and no two
 * of them differ in case only; a manifest is written on any system.
 */
const key = (name: string): string => name.normalize('NFC').replaceAll('\\', '/').toLowerCase();
