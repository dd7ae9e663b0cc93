// Finds invalid combinations of values that are each allowed: an option with a format type, an option with another option, or a
// format type with the program of the query.

import { ALIGNMENT_FIELDS, FORMAT_FIELDS, type FormatField, FRAME_FIELDS, fieldsOf } from './format-fields.ts';
import { DEFAULT_FORMAT_TYPE, FORMAT_TYPE_NAMES, type FormatType } from './format-types.ts';
import { cellOf, OPTION_NAMES, type OptionName } from './options.ts';
import type { QueryProgram } from './query-job.ts';

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
