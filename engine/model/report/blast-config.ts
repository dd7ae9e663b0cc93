// How a report is formatted: the caller's configuration, and the resolved one with the formatter's defaults.

import { type FormatField, fieldsOf, STANDARD_FIELD } from './format-fields.ts';
import { DEFAULT_FORMAT_TYPE, FORMAT_TYPE_NAMES, type FormatType } from './format-types.ts';
import { cellOf, isText, OPTION_NAMES, OPTIONS, type OptionName, type SortHits, type SortHsps } from './options.ts';

/** As requested (docs/contract/report.md#blast-config). */
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

/** Contains every value that the output depends on. Resolving it again changes nothing. */
export interface ResolvedConfig extends BlastConfig {
  readonly formatType: FormatType;
  readonly showGIs: boolean;
  readonly parseDefLines: boolean;
}

/** The values in the formatter's help; without them the formatter would take other numbers from the archive. */
export const DEFAULT_DESCRIPTIONS = 500;
export const DEFAULT_ALIGNMENTS = 250;
export const DEFAULT_LINE_LENGTH = 60;

/**
 * JSON Schema of what a caller may request; it says for each option which format types it affects. `checkCombination` reports
 * invalid combinations.
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

/** A sentence for options that do not affect every format type. */
function extentOf(option: OptionName): string {
  const others = FORMAT_TYPE_NAMES.map((type) => cellOf(option, type)).find((cell) => cell !== 'effective');
  if (others === undefined) return '';
  const counts = FORMAT_TYPE_NAMES.filter((type) => cellOf(option, type) === 'effective').join(', ');
  return `. Counts for ${counts}; ${others === 'refused' ? 'refused for' : 'without effect on'} other types`;
}

/** The configuration must have passed the checks. */
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

/** An empty list means none, and duplicate fields are printed once, at their first position. */
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
