// The format types of a report: names and media types of the files that the formatter writes for each. A type's index in the
// list is the formatter's number for it.

export interface FormatRow {
  /** Value of `formatType`. */
  readonly name: string;
  /** Name of the only file, or of the index of several. */
  readonly file: string;
  readonly mediaType: string;
  /**
   * True when the formatter writes one file per query beside the index: `report_1` and so on, with the same extension and media
   * type.
   */
  readonly several: boolean;
  /** The content, for readers of the documentation. */
  readonly content: string;
}

const TEXT = { file: 'report.txt', mediaType: 'text/plain; charset=utf-8', several: false } as const;
const TABLE = { file: 'report.tsv', mediaType: 'text/tab-separated-values; charset=utf-8', several: false } as const;
const CSV = { file: 'report.csv', mediaType: 'text/csv; charset=utf-8', several: false } as const;
const ASN1 = { file: 'report.asn1', mediaType: 'text/plain; charset=utf-8', several: false } as const;
const JSON_FILE = { file: 'report.json', mediaType: 'application/json', several: false } as const;
const XML = { file: 'report.xml', mediaType: 'application/xml', several: false } as const;

export const FORMAT_TYPES = [
  { name: 'pairwise', ...TEXT, content: 'descriptions and pairwise alignments' },
  { name: 'query-anchored-with-identities', ...TEXT, content: 'alignments below the query, with identities' },
  { name: 'query-anchored-no-identities', ...TEXT, content: 'alignments below the query, without identities' },
  { name: 'flat-query-anchored-with-identities', ...TEXT, content: 'flat alignments, with identities' },
  { name: 'flat-query-anchored-no-identities', ...TEXT, content: 'flat alignments, without identities' },
  { name: 'xml', ...XML, content: 'one XML document, BlastOutput' },
  { name: 'tabular', ...TABLE, content: 'one row for each alignment, no head' },
  { name: 'tabular-with-comments', ...TABLE, content: 'one row for each alignment, comments begin with #' },
  { name: 'seqalign-text', ...ASN1, content: 'one ASN.1 text value for each query' },
  { name: 'seqalign-binary', ...ASN1, mediaType: 'application/octet-stream', content: 'ASN.1 in binary form' },
  { name: 'csv', ...CSV, content: 'one row for each alignment, no head' },
  { name: 'asn1', ...ASN1, content: 'the archive, which the formatter can read again' },
  // Several documents in a row are not a valid JSON document.
  { name: 'seqalign-json', ...JSON_FILE, mediaType: TEXT.mediaType, content: 'one JSON document after the other' },
  { name: 'multi-file-blast-json', ...JSON_FILE, several: true, content: 'an index and one document for each query' },
  { name: 'multi-file-blast-xml2', ...XML, several: true, content: 'an index and one document for each query' },
  { name: 'single-file-blast-json', ...JSON_FILE, content: 'one document, BlastOutput2' },
  { name: 'single-file-blast-xml2', ...XML, content: 'one document, BlastXML2' },
  { name: 'sam', ...TEXT, content: 'sequence alignment map; only of blastn' },
  { name: 'organism-report', ...TEXT, content: 'hits by organism' },
] as const satisfies readonly FormatRow[];

export type FormatType = (typeof FORMAT_TYPES)[number]['name'];

export const FORMAT_TYPE_NAMES: readonly FormatType[] = FORMAT_TYPES.map(({ name }) => name);
export const DEFAULT_FORMAT_TYPE: FormatType = 'pairwise';

/** The value of the formatter's `-outfmt`. */
export const formatNumber = (type: FormatType): number => FORMAT_TYPE_NAMES.indexOf(type);

export function formatRow(type: FormatType): FormatRow {
  const found: FormatRow | undefined = FORMAT_TYPES[formatNumber(type)];
  // Every name of the type is in the list.
  return found ?? FORMAT_TYPES[0];
}
