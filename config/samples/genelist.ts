// Gene lists: one file of gene ids, separated by white space, commas or semicolons, with or without quotes. The first line is
// often the name of the column, which is not an id.

import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { installing, soleFile } from './installed-dataset.ts';
import type { RowTable } from './row-statements.ts';
import { bytesOf, Faults, LIMITS, Refusal, type SamplePlugin, shown, shownShort, tooLong, tooMany } from './sample.ts';
import { sayConverted } from './text-encoding.ts';
import { ownLines, textChunks } from './text-lines.ts';

export interface ListWord {
  readonly text: string;
  readonly line: number;
}

/** The words with their lines, which end with LF, CR LF or CR. Double quotes around a word are removed. */
export async function* words(chunks: AsyncIterable<string>): AsyncGenerator<ListWord> {
  let rest = '';
  let line = 1;
  let afterCr = false;
  for await (const chunk of chunks) {
    const pieces = (rest + chunk).split(/([\s,;])/);
    rest = pieces.pop() ?? '';
    for (const piece of pieces) {
      if (piece === '') continue;
      if (piece === '\r' || (piece === '\n' && !afterCr)) line++;
      afterCr = piece === '\r';
      if (/[^\s,;]/.test(piece)) yield { text: unquoted(piece), line };
    }
    if (Buffer.byteLength(rest) > LIMITS.wordBytes)
      throw new Refusal([
        `line ${line}: ${shownShort(rest, 20)} begins a word of more than ${LIMITS.wordBytes} bytes; is this a gene list?`,
      ]);
  }
  if (rest !== '') yield { text: unquoted(rest), line };
}

/** The first line that is not blank, if it is the name of the column. */
export interface ListHeader {
  readonly line: number;
  readonly text: string;
}

/** Column names that are not names of genes. `IDS` is a human gene. */
const NAMES =
  'id gene genes gene_id gene_ids gene_name gene_names gene_symbol gene_symbols symbol symbols identifier identifiers ' +
  'gene_identifier gene_list genelist locus locus_id locus_tag accession accessions gene_accession source_id feature_id ' +
  'input_id entrez_id entrez_gene_id ensembl_id ensembl_gene_id ensembl_gene transcript_id protein_id uniprot_id geneid(s) gene_id(s)';
const HEADERS: ReadonlySet<string> = new Set(NAMES.split(' ').map(plain));
/** Column names if ids follow on the same line: no gene has these names. */
const CERTAIN = /^(?:gene[_-]?ids?|id)$/i;
const MOST_CHARACTERS = 4_000;

/** Throws a {@link Refusal} for the header of a table of several columns, or for one with ids behind it. */
export async function headerOf(chunks: AsyncIterable<string>, name: string): Promise<ListHeader | undefined> {
  const { line, text } = await firstLine(chunks);
  const cells = text.split(/[\t,;]/).map((cell) => unquoted(cell.trim()));
  while (cells.length > 1 && cells.at(-1) === '') cells.pop();
  const [first = ''] = cells;
  if (cells.length === 1 && HEADERS.has(plain(first))) return { line, text: first };
  if (cells.some((cell) => HEADERS.has(plain(cell))))
    throw new Refusal([
      `${shown(name)}, line ${line}: ${shown(text)} is the header of a table with ${cells.length} columns; ` +
        'upload the column of gene ids alone',
    ]);
  const [word = ''] = first.split(/\s/);
  if (CERTAIN.test(word))
    throw new Refusal([
      `${shown(name)}, line ${line}: ${shown(text)} begins with a header; put it on a line of its own or leave it out`,
    ]);
  return undefined;
}

async function firstLine(chunks: AsyncIterable<string>): Promise<ListHeader> {
  let text = '';
  for await (const chunk of chunks) {
    text += chunk;
    if (/\S[^\r\n]*[\r\n]/.test(text) || text.trimStart().length > MOST_CHARACTERS) break;
  }
  const lines = text.split(/\r\n|\r|\n/);
  const at = lines.findIndex((line) => line.trim() !== '');
  return { line: at + 1, text: (lines[at] ?? '').slice(0, MOST_CHARACTERS).trim() };
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[\s._-]/g, '');
}

function unquoted(word: string): string {
  return /^"[^"]*"$/.test(word) ? word.slice(1, -1) : word;
}

const OUTPUT = 'formatted_gene_list.txt';
const GENE_ID = /^[A-Za-z0-9().:_-]+$/;
const CHARACTERS = 'of the characters A-Z a-z 0-9 ( ) . : _ -';
const TABLE: RowTable = { name: 'genelist', columns: [{ name: 'gene_id', type: 'text' }], key: ['gene_id'] };

export const genelist: SamplePlugin = {
  async import(inputDir, outputDir, io) {
    const file = soleFile(inputDir, 'gene list');
    const path = join(inputDir, file);
    const header = await headerOf(textChunks(path, file), file);
    const notes: Notes = { duplicates: 0, widths: new Set(), lines: 0 };
    const lines = Readable.from(uniqueIds(path, file, header, notes));
    await pipeline(lines, createWriteStream(join(outputDir, OUTPUT)), { signal: io.signal });
    sayConverted(path, file, io);
    if (header !== undefined) io.say(`line ${header.line}: ${shown(header.text)} is a header and was left out`);
    if (notes.duplicates > 0) io.say(`${notes.duplicates} repeated gene ids were dropped`);
    const [width = 0] = notes.widths;
    if (notes.lines > 1 && notes.widths.size === 1 && width > 1)
      io.say(
        `every line has ${width} words, and each was taken as a gene id; if this is a table, upload its ids alone`,
      );
  },

  async checkCompatibility() {
    // The site looks up gene ids, so a list does not depend on a genome version.
  },

  ...installing(TABLE, async (dataDir) => ({ rows: asRows(ownLines(join(dataDir, OUTPUT))), what: 'gene ids' })),
};

interface Notes {
  duplicates: number;
  /** Numbers of words of the lines that are not blank. */
  readonly widths: Set<number>;
  lines: number;
}

/** Each id once, with a line end, in order of first appearance. Throws after the last one if any is malformed. */
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
