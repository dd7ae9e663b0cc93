// The fields that a caller may choose for the format types that have fields.

import type { FormatType } from './format-types.ts';

/** Columns of tables, in the order of the formatter's own help; `std` means the twelve default columns. */
export const TABLE_FIELDS = [
  ...['qseqid', 'qgi', 'qacc', 'qaccver', 'qlen', 'sseqid', 'sallseqid', 'sgi', 'sallgi', 'sacc', 'saccver', 'sallacc'],
  ...['slen', 'qstart', 'qend', 'sstart', 'send', 'qseq', 'sseq', 'evalue', 'bitscore', 'score', 'length', 'pident'],
  ...['nident', 'mismatch', 'positive', 'gapopen', 'gaps', 'ppos', 'frames', 'qframe', 'sframe', 'btop', 'staxid'],
  ...['ssciname', 'scomname', 'sblastname', 'sskingdom', 'staxids', 'sscinames', 'scomnames', 'sblastnames'],
  ...['sskingdoms', 'stitle', 'salltitles', 'sstrand', 'qcovs', 'qcovhsp', 'qcovus', 'std'],
] as const;

/** `SQ` includes the query sequences, `SR` uses the subject as the reference. */
export const SAM_FIELDS = ['SQ', 'SR'] as const;

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
