// The format types of a report: names and media types of the files that the formatter writes for each, and the fields that a
// caller may choose. A type's index in the list is the formatter's number for it.

interface FormatRow {
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

/** Columns of tables, in the order of the formatter's own help; `std` means the twelve default columns. */
export const TABLE_FIELDS = [
  ...['qseqid', 'qgi', 'qacc', 'qaccver', 'qlen', 'sseqid', 'sallseqid', 'sgi', 'sallgi', 'sacc', 'saccver', 'sallacc'],
  ...['slen', 'qstart', 'qend', 'sstart', 'send', 'qseq', 'sseq', 'evalue', 'bitscore', 'score', 'length', 'pident'],
  ...['nident', 'mismatch', 'positive', 'gapopen', 'gaps', 'ppos', 'frames', 'qframe', 'sframe', 'btop', 'staxid'],
  ...['ssciname', 'scomname', 'sblastname', 'sskingdom', 'staxids', 'sscinames', 'scomnames', 'sblastnames'],
  ...['sskingdoms', 'stitle', 'salltitles', 'sstrand', 'qcovs', 'qcovhsp', 'qcovus', 'std'],
] as const;

/** `SQ` includes the query sequences, `SR` uses the subject as the reference. */
const SAM_FIELDS = ['SQ', 'SR'] as const;

export const FORMAT_FIELDS = [...TABLE_FIELDS, ...SAM_FIELDS] as const;
export type FormatField = (typeof FORMAT_FIELDS)[number];

/** What the formatter prints when no field is chosen. */
export const STANDARD_FIELD = 'std' satisfies FormatField;

/** The formatter reads the frames of an alignment only when one of {@link ALIGNMENT_FIELDS} makes it read the alignment. */
export const FRAME_FIELDS: readonly FormatField[] = ['frames', 'sframe'];
export const ALIGNMENT_FIELDS: readonly FormatField[] = [
  ...(['qstart', 'qend', 'sstart', 'send', 'length', 'pident', 'nident', 'mismatch', 'positive'] as const),
  ...(['gapopen', 'gaps', 'qseq', 'sseq', 'btop', 'ppos', 'sstrand', 'qframe', 'std'] as const),
];

/** The fields that may be chosen for the type; none when the type refuses fields. */
export function fieldsOf(type: FormatType): readonly FormatField[] {
  switch (type) {
    case 'tabular':
    case 'tabular-with-comments':
    case 'csv':
      return TABLE_FIELDS;
    case 'sam':
      return SAM_FIELDS;
    default:
      return [];
  }
}
