// How a report is formatted: what a caller asks for, and what that comes to with the defaults of the formatter.

import { type FormatField, fieldsOf, STANDARD_FIELD } from './format-fields.ts';
import { DEFAULT_FORMAT_TYPE, FORMAT_TYPE_NAMES, type FormatType } from './format-types.ts';
import { cellOf, isText, OPTION_NAMES, OPTIONS, type OptionName, type SortHits, type SortHsps } from './options.ts';

/** As asked (docs/contract/report.md#blast-config). */
export interface BlastConfig {
  readonly formatType?: FormatType;
  readonly formatFields?: readonly FormatField[];
  readonly showGIs?: boolean;
  readonly numDescriptions?: number;
  readonly numAlignments?: number;
  readonly lineLength?: number;
  readonly sortHits?: SortHits;
  readonly sortHSPs?: SortHsps;
  readonly maxTargetSequences?: number;
  readonly parseDefLines?: boolean;
}

/** With every value that the output depends on. Asked for again, it comes to itself. */
export interface ResolvedConfig extends BlastConfig {
  readonly formatType: FormatType;
  readonly showGIs: boolean;
  readonly parseDefLines: boolean;
}

/** What the formatter's help states; left to itself it would take other numbers from the archive. */
export const DEFAULT_DESCRIPTIONS = 500;
export const DEFAULT_ALIGNMENTS = 250;
export const DEFAULT_LINE_LENGTH = 60;

/**
 * JSON Schema of what a caller may ask for, which says of each option what it counts for; what does not go together is
 * told by `checkCombination`.
 */
export const BLAST_CONFIG_SCHEMA = {
  type: 'object',
  properties: Object.fromEntries(
    OPTION_NAMES.map((name) => {
      const { schema } = OPTIONS[name];
      return [name, { ...schema, description: `${schema.description}${extentOf(name)}` }];
    }),
  ),
  additionalProperties: false,
} as const;

/** As a sentence, for options that do not count for every format type. */
function extentOf(option: OptionName): string {
  const others = FORMAT_TYPE_NAMES.map((type) => cellOf(option, type)).find((cell) => cell !== 'effective');
  if (others === undefined) return '';
  const counts = FORMAT_TYPE_NAMES.filter((type) => cellOf(option, type) === 'effective').join(', ');
  return `. Counts for ${counts}; ${others === 'refused' ? 'refused for' : 'without effect on'} other types`;
}

/** The configuration must be one that is accepted. */
export function resolveConfig(config: BlastConfig): ResolvedConfig {
  const { formatType = DEFAULT_FORMAT_TYPE, showGIs = false, parseDefLines = false } = config;
  const { sortHits, sortHSPs, maxTargetSequences } = config;
  return {
    formatType,
    ...fields(formatType, config.formatFields ?? []),
    showGIs,
    ...numbers(formatType, config),
    ...(sortHits === undefined ? {} : { sortHits }),
    ...(sortHSPs === undefined ? {} : { sortHSPs }),
    ...(maxTargetSequences === undefined ? {} : { maxTargetSequences }),
    parseDefLines,
  };
}

/** An empty list is none, and a field that is named twice is printed once, where it was named first. */
function fields(type: FormatType, asked: readonly FormatField[]): Pick<BlastConfig, 'formatFields'> {
  if (asked.length > 0) return { formatFields: [...new Set(asked)] };
  return fieldsOf(type).includes(STANDARD_FIELD) ? { formatFields: [STANDARD_FIELD] } : {};
}

function numbers(
  type: FormatType,
  { numDescriptions, numAlignments, lineLength, maxTargetSequences }: BlastConfig,
): Pick<BlastConfig, 'numDescriptions' | 'numAlignments' | 'lineLength'> {
  if (!isText(type)) return numAlignments === undefined ? {} : { numAlignments };
  const line = { lineLength: lineLength ?? DEFAULT_LINE_LENGTH };
  if (maxTargetSequences !== undefined) return line;
  return {
    numDescriptions: numDescriptions ?? DEFAULT_DESCRIPTIONS,
    numAlignments: numAlignments ?? DEFAULT_ALIGNMENTS,
    ...line,
  };
}
