// A list of ids as people send it: words between white space, commas and semicolons, with or without quotes, and often with the
// name of its column on the first line, which is no id.

import { LIMITS } from './limits.ts';
import { Refusal, shown, shownShort } from './sample.ts';

export interface ListWord {
  readonly text: string;
  readonly line: number;
}

/** Words with their lines, which end with LF, CR LF or CR. Double quotes around a word are left out. */
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

/** The first line that is not blank, if it names the column and holds no id. */
export interface ListHeader {
  readonly line: number;
  readonly text: string;
}

/** Names that no gene has; `IDS` is a human gene. */
const NAMES =
  'id gene genes gene_id gene_ids gene_name gene_names gene_symbol gene_symbols symbol symbols identifier identifiers ' +
  'gene_identifier gene_list genelist locus locus_id locus_tag accession accessions gene_accession source_id feature_id ' +
  'input_id entrez_id entrez_gene_id ensembl_id ensembl_gene_id ensembl_gene transcript_id protein_id uniprot_id geneid(s) gene_id(s)';
const HEADERS: ReadonlySet<string> = new Set(NAMES.split(' ').map(plain));
/** Of what begins the line if ids follow it on the same line: no gene has these names. */
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
