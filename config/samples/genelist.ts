// Gene lists: one file of gene ids, separated by white space, commas or semicolons.

import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { installFiles, soleFile } from './dataset-files.ts';
import { installMetaRow, removeMetaRow } from './dataset-meta.ts';
import { type RowTable, removeRows, replaceRows } from './dataset-rows.ts';
import { Faults, Refusal, type SamplePlugin, shown } from './sample.ts';
import { textChunks, textLines } from './text-lines.ts';

const OUTPUT = 'formatted_gene_list.txt';
const MAX_IDS = 1_000_000;
const MAX_ID_LENGTH = 80;
const GENE_ID = /^[A-Za-z0-9().:_-]{1,80}$/;
const TABLE: RowTable = { name: 'genelist', columns: [{ name: 'gene_id', type: 'text' }], key: ['gene_id'] };

export const genelist: SamplePlugin = {
  async import(inputDir, outputDir, io) {
    const file = await soleFile(inputDir, 'gene list');
    const counts = { duplicates: 0 };
    const lines = Readable.from(uniqueIds(join(inputDir, file), file, counts));
    await pipeline(lines, createWriteStream(join(outputDir, OUTPUT)), { signal: io.signal });
    if (counts.duplicates > 0) io.say(`${counts.duplicates} repeated gene ids were dropped`);
  },

  async checkCompatibility() {
    // Gene ids are looked up by the site: a list depends on no genome version.
  },

  async installData(dataset, dataDir, io) {
    await installFiles(dataDir, io.dataFiles);
    const ids = textLines(join(dataDir, OUTPUT), OUTPUT, MAX_ID_LENGTH);
    const rows = await replaceRows(await io.database(), TABLE, dataset, asRows(ids), io.signal);
    io.log(`${rows} gene ids`);
  },

  installMeta: installMetaRow,

  async uninstall(dataset, io) {
    await removeRows(await io.database(), TABLE, dataset, io.signal);
    await removeMetaRow(dataset, io);
  },
};

/** Each id once, with a line end, in the order of first appearance; throws after the last when any is malformed. */
async function* uniqueIds(path: string, name: string, counts: { duplicates: number }): AsyncGenerator<string> {
  const seen = new Set<string>();
  const faults = new Faults();
  for await (const { text, line } of words(path, name)) {
    if (!GENE_ID.test(text)) {
      faults.add(
        `line ${line}: ${shown(text)} is not a gene id: 1 to ${MAX_ID_LENGTH} of the characters A-Z a-z 0-9 ( ) . : _ -`,
      );
    } else if (seen.has(text)) counts.duplicates++;
    else {
      if (seen.size >= MAX_IDS) throw new Refusal([`line ${line}: more than ${MAX_IDS} different gene ids`]);
      seen.add(text);
      yield `${text}\n`;
    }
  }
  faults.check();
  if (seen.size === 0) throw new Refusal([`${shown(name)} holds no gene id`]);
}

async function* words(path: string, name: string): AsyncGenerator<{ readonly text: string; readonly line: number }> {
  let rest = '';
  let line = 1;
  for await (const chunk of textChunks(path, name)) {
    const pieces = (rest + chunk).split(/([\s,;])/);
    rest = pieces.pop() ?? '';
    for (const piece of pieces) {
      if (piece === '\n') line++;
      else if (/[^\s,;]/.test(piece)) yield { text: piece, line };
    }
    if (rest.length > 100 * MAX_ID_LENGTH)
      throw new Refusal([`line ${line}: a word of more than ${100 * MAX_ID_LENGTH} characters; is this a gene list?`]);
  }
  if (rest !== '') yield { text: rest, line };
}

async function* asRows(lines: AsyncIterable<string>): AsyncGenerator<[string]> {
  for await (const line of lines) yield [line];
}
