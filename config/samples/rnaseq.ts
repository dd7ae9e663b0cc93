// RNA-Seq: a manifest and one expression table per sample, in any folder.

import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { exportFiles, installFiles, listFiles } from './dataset-files.ts';
import { installMetaRow, removeMetaRow } from './dataset-meta.ts';
import { type RowTable, removeRows, replaceRows } from './dataset-rows.ts';
import { findManifest, type ManifestEntry, readManifest } from './rnaseq-manifest.ts';
import { Faults, Refusal, type SampleIo, type SamplePlugin, shown } from './sample.ts';
import { textLines } from './text-lines.ts';

const MAX_LINE = 10_000;
const MAX_GENES = 1_000_000;
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
    const { files, entries } = await readUpload(inputDir);
    for (const entry of entries) await checkEntry(inputDir, entry, io);
    await exportFiles(inputDir, files, outputDir);
  },

  async checkCompatibility(dependencies) {
    if (dependencies.length !== 1)
      throw new Refusal([`RNA-Seq data belong to exactly one genome; the dataset names ${dependencies.length}`]);
  },

  async installData(dataset, dataDir, io) {
    await installFiles(dataDir, io.dataFiles);
    const { entries } = await readUpload(dataDir);
    const count = await replaceRows(await io.database(), TABLE, dataset, allRows(dataDir, entries), io.signal);
    io.log(`${count} values of ${entries.length} samples`);
  },

  installMeta: installMetaRow,

  async uninstall(dataset, io) {
    await removeRows(await io.database(), TABLE, dataset, io.signal);
    await removeMetaRow(dataset, io);
  },
};

async function readUpload(dir: string): Promise<{ files: readonly string[]; entries: readonly ManifestEntry[] }> {
  const files = await listFiles(dir);
  const manifest = findManifest(files);
  const lines = textLines(join(dir, manifest), manifest, MAX_LINE);
  return { files, entries: await readManifest(lines, manifest, files) };
}

async function checkEntry(dir: string, { file, bigWig }: ManifestEntry, io: SampleIo): Promise<void> {
  const genes = new Set<string>();
  const faults = new Faults();
  for await (const { gene, text, line } of values(dir, file)) {
    io.signal.throwIfAborted();
    const where = `${shown(file)}, line ${line}`;
    if (gene === '') faults.add(`${where}: no gene id`);
    else if (genes.has(gene)) faults.add(`${where}: gene ${shown(gene)} stands twice`);
    if (!/^[0-9.eE+-]+$/.test(text) || !(Number(text) >= 0) || !Number.isFinite(Number(text)))
      faults.add(`${where}: ${shown(text)} is not a number of 0 or more`);
    genes.add(gene);
    if (genes.size > MAX_GENES) throw new Refusal([`${where}: more than ${MAX_GENES} genes`]);
  }
  faults.check();
  if (genes.size === 0) throw new Refusal([`${shown(file)} has a header but no gene`]);
  if (bigWig !== undefined) await checkBigWig(dir, bigWig);
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

/** Gene and value of each line; the header decides where they stand. */
async function* values(dir: string, file: string): AsyncGenerator<GeneValue> {
  let layout: ReturnType<typeof layoutOf> | undefined;
  let line = 0;
  for await (const text of textLines(join(dir, file), file, MAX_LINE)) {
    line++;
    if (text === '') continue;
    const cells = text.split('\t');
    if (layout === undefined) layout = layoutOf(cells, file);
    else if (cells.length !== layout.columns)
      throw new Refusal([`${shown(file)}, line ${line}: ${cells.length} columns; the header has ${layout.columns}`]);
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
): { readonly columns: number; readonly gene: number; readonly value: number; readonly unit: 'TPM' | 'FPKM' } {
  const names = header.map((name) => name.trim());
  if (names.length === 2 && names[0] === 'gene_id' && (names[1] === 'TPM' || names[1] === 'FPKM'))
    return { columns: 2, gene: 0, value: 1, unit: names[1] };
  const gene = names.indexOf('gene_id');
  const value = names.indexOf('FPKM');
  if (names.length === CUFFLINKS_COLUMNS && gene >= 0 && value >= 0)
    return { columns: CUFFLINKS_COLUMNS, gene, value, unit: 'FPKM' };
  throw new Refusal([
    `${shown(basename(file))}: header ${shown(header.join(' '))} must be gene_id<TAB>TPM, gene_id<TAB>FPKM or the ` +
      `${CUFFLINKS_COLUMNS} columns of Cufflinks`,
  ]);
}
