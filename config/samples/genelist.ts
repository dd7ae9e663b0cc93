// Gene lists: one file of gene ids, separated by white space, commas or semicolons.

import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { installFiles, soleFile } from './dataset-files.ts';
import { installMetaRow, removeMetaRow } from './dataset-meta.ts';
import { type RowTable, removeRows, replaceRows } from './dataset-rows.ts';
import { bytesOf, LIMITS, tooLong, tooMany } from './limits.ts';
import { headerOf, type ListHeader, words } from './list-words.ts';
import { Faults, Refusal, type SamplePlugin, shown } from './sample.ts';
import { sayConverted } from './text-encoding.ts';
import { ownLines, textChunks } from './text-lines.ts';

const OUTPUT = 'formatted_gene_list.txt';
const GENE_ID = /^[A-Za-z0-9().:_-]+$/;
const CHARACTERS = 'of the characters A-Z a-z 0-9 ( ) . : _ -';
const TABLE: RowTable = { name: 'genelist', columns: [{ name: 'gene_id', type: 'text' }], key: ['gene_id'] };

export const genelist: SamplePlugin = {
  async import(inputDir, outputDir, io) {
    const file = await soleFile(inputDir, 'gene list');
    const path = join(inputDir, file);
    const header = await headerOf(textChunks(path, file), file);
    const notes: Notes = { duplicates: 0, widths: new Set(), lines: 0 };
    const lines = Readable.from(uniqueIds(path, file, header, notes));
    await pipeline(lines, createWriteStream(join(outputDir, OUTPUT)), { signal: io.signal });
    await sayConverted(path, file, io);
    if (header !== undefined) io.say(`line ${header.line}: ${shown(header.text)} is a header and was left out`);
    if (notes.duplicates > 0) io.say(`${notes.duplicates} repeated gene ids were dropped`);
    const [width = 0] = notes.widths;
    if (notes.lines > 1 && notes.widths.size === 1 && width > 1)
      io.say(
        `every line has ${width} words, and each was taken as a gene id; if this is a table, upload its ids alone`,
      );
  },

  async checkCompatibility() {
    // Gene ids are looked up by the site: a list depends on no genome version.
  },

  async installData(dataset, dataDir, io) {
    await installFiles(dataDir, io.dataFiles);
    const ids = asRows(ownLines(join(dataDir, OUTPUT)));
    const rows = await replaceRows(await io.database(), TABLE, dataset, ids, io.signal);
    io.log(`${rows} gene ids`);
  },

  installMeta: installMetaRow,

  async uninstall(dataset, io) {
    await removeRows(await io.database(), TABLE, dataset, io.signal);
    await removeMetaRow(dataset, io);
  },
};

interface Notes {
  duplicates: number;
  /** How many words the lines have that have any. */
  readonly widths: Set<number>;
  lines: number;
}

/** Each id once, with a line end, in the order of first appearance; throws after the last when any is malformed. */
export async function* uniqueIds(
  path: string,
  name: string,
  header: ListHeader | undefined,
  notes: Notes,
  most: number = LIMITS.geneIds,
): AsyncGenerator<string> {
  const seen = new Set<string>();
  const faults = new Faults();
  let at = { line: 0, words: 0 };
  for await (const { text, line } of words(textChunks(path, name))) {
    if (line === header?.line) continue;
    if (line !== at.line) {
      if (at.words > 0) notes.widths.add(at.words);
      notes.lines++;
      at = { line, words: 0 };
    }
    at.words++;
    const fault = faultOf(text);
    if (fault !== undefined) faults.add(`line ${line}: ${shown(text)} ${fault}`);
    else if (seen.has(text)) notes.duplicates++;
    else {
      if (seen.size >= most)
        throw new Refusal([`line ${line}: gene id ${shown(text)} ${tooMany(seen.size + 1, most)}`]);
      seen.add(text);
      yield `${text}\n`;
    }
  }
  notes.widths.add(at.words);
  faults.check();
  if (seen.size === 0) throw new Refusal([`${shown(name)} holds no gene id`]);
}

function faultOf(text: string): string | undefined {
  if (!GENE_ID.test(text)) return `is not a gene id: 1 to ${LIMITS.geneIdBytes} ${CHARACTERS}`;
  const bytes = bytesOf(text);
  return bytes > LIMITS.geneIdBytes ? `is not a gene id: it ${tooLong(bytes, LIMITS.geneIdBytes)}` : undefined;
}

async function* asRows(lines: AsyncIterable<string>): AsyncGenerator<[string]> {
  for await (const line of lines) yield [line];
}
