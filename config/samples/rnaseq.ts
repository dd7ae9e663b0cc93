// RNA-Seq: a manifest and one expression table per sample, in any folder. manifest.txt says which file belongs to which sample,
// and how its library was prepared:
//   SAMPLE <TAB> FILE <TAB> unstranded|sense|antisense [<TAB> BIGWIG FILE]

import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { delimitedRows, tabRows } from './delimited.ts';
import { exportFiles, installing, listFiles } from './installed-dataset.ts';
import type { DelimitedRow } from './row-parser.ts';
import type { RowTable } from './row-statements.ts';
import {
  bytesOf,
  Faults,
  LIMITS,
  Refusal,
  type SampleIo,
  type SamplePlugin,
  shown,
  tooLong,
  tooMany,
} from './sample.ts';
import { keepAsUtf8 } from './text-lines.ts';

export const MANIFEST = 'manifest.txt';

const STRANDS = ['unstranded', 'sense', 'antisense'];
const FORM = 'SAMPLE<TAB>FILE<TAB>unstranded|sense|antisense, and optionally <TAB>BIGWIG FILE';

export interface ManifestEntry {
  readonly sample: string;
  /** The path of the table, relative to the upload's root. */
  readonly file: string;
  readonly strand: string;
  readonly bigWig: string | undefined;
}

/** The path of the only manifest among the files, which may be in a folder. */
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
 * The entries with their files, found among `files` by path (from the root or from the manifest's folder), or by base name if
 * only one file has it. Every file must be listed, and every listed file must exist.
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
 * The key by which names are compared. Names of an upload are NFC, have `/` between folders, and never differ only in case. A
 * manifest may come from any system.
 */
const key = (name: string): string => name.normalize('NFC').replaceAll('\\', '/').toLowerCase();

const TABLE_LIMITS = { columns: LIMITS.columns, cellBytes: LIMITS.rnaCellBytes };
/** Little and big endian. */
const BIG_WIG = [0x888ffc26, 0x26fc8f88];
const CUFFLINKS_COLUMNS = 13;
const TABLE: RowTable = {
  name: 'rnaseq',
  columns: [
    { name: 'sample', type: 'text' },
    { name: 'gene_id', type: 'text' },
    { name: 'unit', type: 'text' },
    { name: 'value', type: 'float8' },
  ],
  key: ['sample', 'gene_id'],
};

export const rnaseq: SamplePlugin = {
  async import(inputDir, outputDir, io) {
    const { files, manifest, entries } = await readUpload(inputDir);
    for (const entry of entries) await checkEntry(inputDir, entry, io);
    exportFiles(inputDir, files, outputDir);
    for (const file of [manifest, ...entries.map((entry) => entry.file)])
      await keepAsUtf8(join(inputDir, file), join(outputDir, file), file, io);
  },

  async checkCompatibility(dependencies) {
    if (dependencies.length !== 1)
      throw new Refusal([`RNA-Seq data belong to exactly one genome; the dataset names ${dependencies.length}`]);
  },

  ...installing(TABLE, async (dataDir) => {
    const { entries } = await readUpload(dataDir);
    return { rows: allRows(dataDir, entries), what: `values of ${entries.length} samples` };
  }),
};

interface Upload {
  readonly files: readonly string[];
  readonly manifest: string;
  readonly entries: readonly ManifestEntry[];
}

async function readUpload(dir: string): Promise<Upload> {
  const files = listFiles(dir);
  const manifest = findManifest(files);
  const rows = tabRows(join(dir, manifest), manifest, TABLE_LIMITS);
  return { files, manifest, entries: await readManifest(rows, manifest, files) };
}

export async function checkEntry(
  dir: string,
  { file, bigWig }: ManifestEntry,
  io: Pick<SampleIo, 'signal'>,
  most: number = LIMITS.genesPerSample,
): Promise<void> {
  const genes = new Set<string>();
  const faults = new Faults();
  for await (const { gene, text, line } of values(dir, file)) {
    io.signal.throwIfAborted();
    const where = `${shown(file)}, line ${line}`;
    const fault = faultOfValue(text);
    const bytes = bytesOf(gene);
    if (gene === '') faults.add(`${where}: no gene id`);
    else if (genes.has(gene)) faults.add(`${where}: gene ${shown(gene)} stands twice`);
    if (bytes > LIMITS.rnaGeneBytes) faults.add(`${where}: gene ${shown(gene)} ${tooLong(bytes, LIMITS.rnaGeneBytes)}`);
    if (fault !== undefined) faults.add(`${where}: ${shown(text)} ${fault}`);
    genes.add(gene);
    if (genes.size > most) throw new Refusal([`${where}: gene ${shown(gene)} ${tooMany(genes.size, most)}`]);
  }
  faults.check();
  if (genes.size === 0) throw new Refusal([`${shown(file)} has a header but no gene`]);
  if (bigWig !== undefined) await checkBigWig(dir, bigWig);
}

function faultOfValue(text: string): string | undefined {
  if (/^[0-9]+(?:\.[0-9]{3})+,[0-9]+$|^[0-9]+,[0-9]+$/.test(text))
    return 'is not a number of 0 or more: a comma may be a decimal mark or part thousands; write a point before decimals';
  const value = /^[0-9.eE+-]+$/.test(text) ? Number(text) : Number.NaN;
  return value >= 0 && Number.isFinite(value) ? undefined : 'is not a number of 0 or more';
}

async function checkBigWig(dir: string, file: string): Promise<void> {
  await using handle = await open(join(dir, file));
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  if (bytesRead < 4 || !BIG_WIG.includes(buffer.readUInt32LE()))
    throw new Refusal([`${shown(file)} is not a bigWig file`]);
}

async function* allRows(
  dir: string,
  entries: readonly ManifestEntry[],
): AsyncGenerator<[string, string, string, number]> {
  for (const { sample, file } of entries)
    for await (const { gene, unit, text } of values(dir, file)) yield [sample, gene, unit, Number(text)];
}

interface GeneValue {
  readonly gene: string;
  readonly unit: 'TPM' | 'FPKM';
  readonly text: string;
  readonly line: number;
}

/** The gene and the value of each line, from the columns that the header names. */
async function* values(dir: string, file: string): AsyncGenerator<GeneValue> {
  let layout: ReturnType<typeof layoutOf> | undefined;
  for await (const { line, cells } of delimitedRows(join(dir, file), file, TABLE_LIMITS)) {
    if (layout === undefined) layout = layoutOf(cells, file, line);
    else if (cells.length !== layout.columns)
      throw new Refusal([
        `${shown(file)}, line ${line}: ${shown(cells.join('\t'))} has ${cells.length} columns; the header has ${layout.columns}`,
      ]);
    else {
      const { gene, value, unit } = layout;
      yield { gene: (cells[gene] ?? '').trim(), unit, text: (cells[value] ?? '').trim(), line };
    }
  }
  if (layout === undefined) throw new Refusal([`${shown(file)} is empty`]);
}

function layoutOf(
  header: readonly string[],
  file: string,
  line: number,
): { readonly columns: number; readonly gene: number; readonly value: number; readonly unit: 'TPM' | 'FPKM' } {
  const names = header.map((name) => name.trim());
  if (names.length === 2 && names[0] === 'gene_id' && (names[1] === 'TPM' || names[1] === 'FPKM'))
    return { columns: 2, gene: 0, value: 1, unit: names[1] };
  const gene = names.indexOf('gene_id');
  const value = names.indexOf('FPKM');
  if (names.length === CUFFLINKS_COLUMNS && gene >= 0 && value >= 0)
    return { columns: CUFFLINKS_COLUMNS, gene, value, unit: 'FPKM' };
  throw new Refusal([
    `${shown(basename(file))}, line ${line}: header ${shown(header.join('\t'))} must be gene_id<TAB>TPM, gene_id<TAB>FPKM or the ` +
      `${CUFFLINKS_COLUMNS} columns of Cufflinks`,
  ]);
}
