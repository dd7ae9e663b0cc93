// How a report is formatted: the caller's configuration, and the resolved one with the formatter's defaults. The checks find
// invalid combinations of values that are each allowed: an option with a format type, an option with another option, or a
// format type with the program of the query.

import {
  ALIGNMENT_FIELDS,
  DEFAULT_FORMAT_TYPE,
  FORMAT_FIELDS,
  FORMAT_TYPE_NAMES,
  type FormatField,
  type FormatType,
  FRAME_FIELDS,
  fieldsOf,
  STANDARD_FIELD,
} from './format-types.ts';
import { cellOf, isText, OPTION_NAMES, OPTIONS, type OptionName, type SortHits, type SortHsps } from './options.ts';
import type { QueryProgram } from './query-job.ts';

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
const DEFAULT_DESCRIPTIONS = 500;
const DEFAULT_ALIGNMENTS = 250;
const DEFAULT_LINE_LENGTH = 60;

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

/** Receives faults: the path of the field, and a sentence that continues its name. */
export interface FaultSink {
  add(path: readonly (string | number)[], sentence: string): void;
}

const AT = 'blastConfig';
const EXCLUDED: readonly OptionName[] = ['numDescriptions', 'numAlignments'];

/**
 * Adds the faults below `blastConfig`; a conflict with the format type is reported for both fields. The schema reports options
 * whose own values are invalid; here they are checked as far as possible.
 */
export function checkCombination(config: Readonly<Record<string, unknown>>, faults: FaultSink): void {
  const { formatType = DEFAULT_FORMAT_TYPE, formatFields } = config;
  const type = FORMAT_TYPE_NAMES.find((name) => name === formatType);
  const given = OPTION_NAMES.filter((name) => config[name] !== undefined && !isEmptyList(config[name]));
  if (type !== undefined) {
    for (const name of given) if (cellOf(name, type) === 'refused') addClash(name, type, faults);
    if (Array.isArray(formatFields)) checkFields(formatFields, type, faults);
  }
  if (!given.includes('maxTargetSequences')) return;
  for (const name of EXCLUDED.filter((name) => given.includes(name))) {
    faults.add([AT, 'maxTargetSequences'], `excludes '${name}'; only one of them may be given`);
    faults.add([AT, name], `excludes 'maxTargetSequences'; only one of them may be given`);
  }
}

/** The formatter writes some types only for certain programs. */
export function checkProgram(type: FormatType, program: QueryProgram, faults: FaultSink): void {
  if (type === 'sam' && program !== 'blastn')
    faults.add([AT, 'formatType'], `is 'sam', which is for queries of blastn; the query job is of ${program}`);
}

function addClash(name: OptionName, type: FormatType, faults: FaultSink): void {
  const allowed = FORMAT_TYPE_NAMES.filter((other) => cellOf(name, other) !== 'refused').join(', ');
  faults.add([AT, name], `is not for the format type '${type}'; it is for ${allowed}`);
  faults.add([AT, 'formatType'], `is '${type}', which '${name}' is not for`);
}

function checkFields(given: readonly unknown[], type: FormatType, faults: FaultSink): void {
  const allowed: readonly unknown[] = fieldsOf(type);
  if (allowed.length === 0) return;
  for (const [i, field] of given.entries())
    if (!allowed.includes(field) && isKnown(field))
      faults.add([AT, 'formatFields', i], `is '${field}', which the format type '${type}' has not`);
  const unpaired = FRAME_FIELDS.filter((field) => given.includes(field));
  if (unpaired.length > 0 && !ALIGNMENT_FIELDS.some((field) => given.includes(field)))
    faults.add(
      [AT, 'formatFields'],
      `holds '${unpaired.join("' and '")}', for which one of ${ALIGNMENT_FIELDS.join(', ')} is needed too`,
    );
}

const KNOWN: readonly unknown[] = FORMAT_FIELDS;
const isKnown = (field: unknown): field is FormatField => KNOWN.includes(field);
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
