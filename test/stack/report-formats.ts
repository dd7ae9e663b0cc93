// What a report of each format type is to others than us: XML to xmllint, JSON to a parser, tables and SAM by their
// columns, BLAST's own archive to BLAST's own program.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FormatType, formatRow } from '../../engine/model/report/format-types.ts';

export type ReportFiles = ReadonlyMap<string, Buffer>;

/** What the search itself said, without an archive in between. */
export interface SearchFacts {
  /** For files of the checks. */
  readonly dir: string;
  readonly program: 'blastn' | 'blastp';
  /** Ids of the queries, in their order. */
  readonly queries: readonly string[];
  /** Of the search as a table: one for each alignment. */
  readonly rows: readonly string[];
}

/** Whatever is not as it should be, in words; nothing for a report that is right. */
export function faultsOfReport(type: FormatType, files: ReportFiles, facts: SearchFacts): readonly string[] {
  const { file, several } = formatRow(type);
  const parts = [...files.keys()].filter((name) => name !== file && name !== 'report.zip');
  const [wanted, stem, extension] = [several ? facts.queries.length : 0, ...file.split('.')];
  const names = Array.from({ length: wanted }, (_, i) => `${stem}_${i + 1}.${extension}`);
  const faults = differs('files beside the first', parts, names);
  return [...faults, ...CHECKS[type]({ files, text: textOf(files, file), parts: names, ...facts })];
}

interface Report extends SearchFacts {
  readonly files: ReportFiles;
  /** Of the only file, or of the index. */
  readonly text: string;
  readonly parts: readonly string[];
}

type Check = (report: Report) => readonly string[];

const anchored: Check = ({ text, queries }) =>
  differs('queries', [...text.matchAll(/^Query= (\S+)/gm)].map(first), queries);

const CHECKS: Readonly<Record<FormatType, Check>> = {
  pairwise: (report) => [
    ...anchored(report),
    ...differs('alignments', [...report.text.matchAll(/^ Score = /gm)].length, report.rows.length),
  ],
  'query-anchored-with-identities': anchored,
  'query-anchored-no-identities': anchored,
  'flat-query-anchored-with-identities': anchored,
  'flat-query-anchored-no-identities': anchored,
  xml: ({ text, dir, rows }) => differs('alignments', countInXml(text, dir, 'Hsp'), rows.length),
  tabular: ({ text, rows }) => differs('rows', linesOf(text), rows),
  'tabular-with-comments': ({ text, rows, queries }) => [
    ...differs(
      'rows',
      linesOf(text).filter((line) => !line.startsWith('#')),
      rows,
    ),
    ...differs('queries', [...text.matchAll(/^# Query: (\S+)/gm)].map(first), queries),
    ...differs('last line', linesOf(text).at(-1), `# BLAST processed ${queries.length} queries`),
  ],
  'seqalign-text': ({ text, rows }) => [
    ...differs('values', [...text.matchAll(/^Seq-annot ::= \{/gm)].length, queriesWithHits(rows)),
    ...differs('alignments', [...text.matchAll(/^ +type (partial|diags|global)/gm)].length, rows.length),
  ],
  // A SEQUENCE of indefinite length, for each query with hits, and nothing after their ends.
  'seqalign-binary': ({ files, rows }) =>
    differs('values', berValues(files.get('report.asn1') ?? Buffer.alloc(0)), queriesWithHits(rows)),
  csv: ({ text, rows }) =>
    differs(
      'rows',
      linesOf(text).map((line) => line.replaceAll(',', '\t')),
      rows,
    ),
  asn1: ({ text, dir, rows }) => differs('rows when read again', linesOf(readAgain(text, dir)), rows),
  'seqalign-json': ({ text, rows }) => differs('documents', jsonDocuments(text).length, queriesWithHits(rows)),
  'multi-file-blast-json': ({ text, files, parts, rows }) => [
    ...differs('index', JSON.parse(text), { BlastJSON: parts.map((File) => ({ File })) }),
    ...differs('alignments', countInJson(parts.map((name) => JSON.parse(textOf(files, name)))), rows.length),
  ],
  'multi-file-blast-xml2': ({ text, files, parts, dir, rows }) => [
    ...differs('index', [...text.matchAll(/<xi:include href="([^"]+)"/g)].map(first), parts),
    ...differs('elements of the index', countInXml(text, dir, 'include'), parts.length),
    ...differs(
      'alignments',
      parts.reduce((sum, name) => sum + countInXml(textOf(files, name), dir, 'Hsp'), 0),
      rows.length,
    ),
  ],
  'single-file-blast-json': ({ text, queries, rows }) => [
    ...differs('queries', (JSON.parse(text) as { BlastOutput2: unknown[] }).BlastOutput2.length, queries.length),
    ...differs('alignments', countInJson(JSON.parse(text)), rows.length),
  ],
  'single-file-blast-xml2': ({ text, dir, queries, rows }) => [
    ...differs('queries', countInXml(text, dir, 'BlastOutput2'), queries.length),
    ...differs('alignments', countInXml(text, dir, 'Hsp'), rows.length),
  ],
  sam: ({ text, rows }) => {
    const records = linesOf(text).filter((line) => !line.startsWith('@'));
    const faulty = records.filter((line) => !/^\S+\t\d+\t\S+\t\d+\t\d+\t(\d+[MIDNSHP=X])+(\t\S+){5,}$/.test(line));
    return [...differs('records', records.length, rows.length), ...differs('records of another form', faulty, [])];
  },
  // Without taxa in the database it lists no hit.
  'organism-report': anchored,
};

const first = ([, found]: RegExpExecArray | RegExpMatchArray): string => found ?? '';
const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');
const textOf = (files: ReportFiles, name: string): string => files.get(name)?.toString() ?? '';
const queriesWithHits = (rows: readonly string[]): number => new Set(rows.map((row) => row.split('\t')[0])).size;

function differs(what: string, found: unknown, wanted: unknown): readonly string[] {
  const [is, should] = [JSON.stringify(found), JSON.stringify(wanted)];
  return is === should ? [] : [`${what}: ${is?.slice(0, 500)} instead of ${should?.slice(0, 500)}`];
}

function countInXml(text: string, dir: string, element: string): number {
  const file = join(dir, 'checked.xml');
  writeFileSync(file, text);
  return Number(execFileSync('xmllint', ['--nonet', '--xpath', `count(//*[local-name()='${element}'])`, file]));
}

function countInJson(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [key, member]) => sum + (key === 'hsps' && Array.isArray(member) ? member.length : countInJson(member)),
    0,
  );
}

/** One after the other, each ended by a brace at the start of a line. */
const jsonDocuments = (text: string): readonly unknown[] =>
  text
    .split(/(?<=^\})\s*(?=\{)/m)
    .filter((part) => part.trim() !== '')
    .map((part): unknown => JSON.parse(part));

function readAgain(archive: string, dir: string): string {
  const [from, to] = [join(dir, 'archive.asn1'), join(dir, 'again.tsv')];
  writeFileSync(from, archive);
  const env = { PATH: process.env.PATH, HOME: dir, BLASTDB: dir, BLAST_USAGE_REPORT: 'false' };
  execFileSync('blast_formatter', ['-archive', from, '-outfmt', '6', '-out', to], { env, cwd: dir });
  return execFileSync('cat', [to], { encoding: 'utf8' });
}

/** How many values stand one after the other: tags, lengths, and ends of those of indefinite length, to the last byte. */
function berValues(bytes: Buffer): number {
  let [at, depth, values] = [0, 0, 0];
  while (at < bytes.length) {
    const tag = bytes.readUInt8(at++);
    // A tag of several bytes goes on while the highest bit is set.
    if ((tag & 0x1f) === 0x1f) while (bytes.readUInt8(at++) & 0x80);
    const length = bytes.readUInt8(at++);
    if (tag === 0 && length === 0) depth--;
    else if (length === 0x80) depth++;
    else if (length < 0x80) at += length;
    else {
      const octets = length & 0x7f;
      at += octets + bytes.readUIntBE(at, octets);
    }
    if (depth === 0) values++;
  }
  if (depth !== 0 || at !== bytes.length) throw new Error(`the binary value ends at ${at} of ${bytes.length}`);
  return values;
}
