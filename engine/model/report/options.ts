// The only table of options: what each one is, the formatter's flag for it, and, for every format type, whether it has an
// effect, has none, or is refused. Schema, checks, command line and documentation are generated from it.

import {
  DEFAULT_FORMAT_TYPE,
  FORMAT_FIELDS,
  FORMAT_TYPE_NAMES,
  type FormatType,
  fieldsOf,
  formatNumber,
} from './format-types.ts';

/**
 * An option with a format type. `effective`: it can change the output. `no-op`: it is accepted and stored but not passed to the
 * formatter, whose output would be the same. `refused`: a fault.
 */
export type Cell = 'effective' | 'no-op' | 'refused';

/** Sort orders of hits and of the alignments of one hit; a name's index is the formatter's number for it. */
export const SORT_HITS = [
  ...(['by-evalue', 'by-bit-score', 'by-total-score', 'by-percent-identity', 'by-query-coverage'] as const),
] as const;
export type SortHits = (typeof SORT_HITS)[number];
export const SORT_HSPS = [
  ...(['by-hsp-evalue', 'by-hsp-score', 'by-hsp-query-start', 'by-hsp-percent-identity'] as const),
  'by-hsp-subject-start',
] as const;
export type SortHsps = (typeof SORT_HSPS)[number];

/** The formatter uses 32-bit numbers. */
const MAX_NUMBER = 2_147_483_647;
/** Names in one list. All of them form one command argument, which may have at most 128 KiB. */
const MAX_FIELDS = 1_000;

interface OptionRow {
  /** JSON Schema of the value. */
  readonly schema: object;
  /** The formatter's flag. */
  readonly flag: string;
  readonly cell: (type: FormatType) => Cell;
}

const number = (minimum: number, description: string) =>
  ({ type: 'integer', minimum, maximum: MAX_NUMBER, description }) as const;
const flag = (description: string) => ({ type: 'boolean', default: false, description }) as const;

/** Types 0 to 4 of the formatter: text for people. */
export const isText = (type: FormatType): boolean => formatNumber(type) <= 4;
const isSam = (type: FormatType): boolean => type === 'sam';
/** These list everything in the archive, whatever the options. */
const isWhole = (type: FormatType): boolean => isSam(type) || type === 'organism-report';
const when = (effective: boolean, otherwise: Exclude<Cell, 'effective'>): Cell => (effective ? 'effective' : otherwise);

export const OPTIONS = {
  formatType: {
    schema: {
      type: 'string',
      ...{ enum: FORMAT_TYPE_NAMES, default: DEFAULT_FORMAT_TYPE },
      description: 'What the report is written as',
    },
    flag: '-outfmt',
    cell: () => 'effective',
  },
  formatFields: {
    schema: {
      type: 'array',
      ...{ maxItems: MAX_FIELDS, items: { type: 'string', enum: FORMAT_FIELDS } },
      description: 'Fields in the order in which they are printed; SQ and SR are those of sam, the others of tables',
    },
    flag: '-outfmt',
    cell: (type) => when(fieldsOf(type).length > 0, 'refused'),
  },
  showGIs: {
    schema: flag('Whether GI numbers are shown, where the database has them'),
    flag: '-show_gis',
    cell: (type) => when(isText(type), 'no-op'),
  },
  numDescriptions: {
    schema: number(0, 'Sequences that are described in one line each; 500 where it counts and none is given'),
    flag: '-num_descriptions',
    cell: (type) => when(isText(type), 'refused'),
  },
  numAlignments: {
    schema: number(0, 'Sequences whose alignments are shown; 250 in text, else all'),
    flag: '-num_alignments',
    cell: (type) => when(!isWhole(type), 'no-op'),
  },
  lineLength: {
    schema: number(1, 'Residues in one line of an alignment; 60 where none is given'),
    flag: '-line_length',
    cell: (type) => when(isText(type), 'refused'),
  },
  sortHits: {
    schema: { type: 'string', enum: SORT_HITS, description: 'Order of the hits; any adds columns to the descriptions' },
    flag: '-sorthits',
    cell: (type) => when(isText(type), 'refused'),
  },
  sortHSPs: {
    schema: { type: 'string', enum: SORT_HSPS, description: 'Order of the alignments of one hit' },
    flag: '-sorthsps',
    cell: (type) => when(type === 'pairwise', 'refused'),
  },
  maxTargetSequences: {
    schema: number(5, 'Sequences that are shown at most, instead of numDescriptions and numAlignments'),
    flag: '-max_target_seqs',
    cell: (type) => when(!isWhole(type), 'no-op'),
  },
  parseDefLines: {
    schema: flag('Whether names of queries and subjects are taken from their definition lines'),
    flag: '-parse_deflines',
    cell: (type) => when(PARSED.has(type), 'no-op'),
  },
} as const satisfies Readonly<Record<string, OptionRow>>;

const PARSED: ReadonlySet<FormatType> = new Set(
  FORMAT_TYPE_NAMES.filter((type) => isText(type) || /^(tabular.*|csv|organism-report)$/.test(type)),
);

export type OptionName = keyof typeof OPTIONS;
export const OPTION_NAMES = Object.keys(OPTIONS) as readonly OptionName[];

export const cellOf = (option: OptionName, type: FormatType): Cell => OPTIONS[option].cell(type);
