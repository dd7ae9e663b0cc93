// Which options a format has, by the table of the report service itself (engine/model/report/options.ts), and what the form says
// as the service takes it. An option that has no effect or is refused is not offered, and not sent.

import { type FormatType, fieldsOf } from '../../../../../engine/model/report/format-types.ts';
import { cellOf, OPTION_NAMES, OPTIONS, type OptionName } from '../../../../../engine/model/report/options.ts';
import type { Config } from './jobs.ts';

/** By option; the fields of a table with spaces between them. */
export type Values = Readonly<Partial<Record<OptionName, string>>>;
export type Option = Exclude<OptionName, 'formatType'>;

export const optionsOf = (type: FormatType): readonly Option[] =>
  OPTION_NAMES.filter((name): name is Option => name !== 'formatType' && cellOf(name, type) === 'effective');

export const kindOf = (option: Option): 'integer' | 'boolean' | 'array' | 'string' => OPTIONS[option].schema.type;

/** What one may choose from. */
export function choicesOf(option: Option, type: FormatType): readonly string[] {
  const { schema } = OPTIONS[option];
  if (schema.type === 'array') return fieldsOf(type);
  return 'enum' in schema ? schema.enum : [];
}

/** A number that is none goes as it was typed: the service says what is wrong with it. */
export function configOf(type: FormatType, values: Values): Config {
  const given = optionsOf(type).flatMap((option) => {
    const text = values[option]?.trim() ?? '';
    return text === '' ? [] : [[option, parsed(option, text)] as const];
  });
  return { formatType: type, ...Object.fromEntries(given) } as Config;
}

function parsed(option: Option, text: string): unknown {
  switch (kindOf(option)) {
    case 'integer':
      return Number.isFinite(Number(text)) ? Number(text) : text;
    case 'boolean':
      return text === 'true';
    case 'array':
      return text.split(' ');
    case 'string':
      return text;
  }
}

/** The options of a report that are said of it: those that have an effect, and are on. */
export const givenOf = (config: Config): readonly (readonly [Option, string])[] =>
  optionsOf(config.formatType).flatMap((option) => {
    const value = config[option];
    if (value === undefined || value === false) return [];
    return [[option, Array.isArray(value) ? value.join(' ') : String(value)] as const];
  });

/** The twelve columns that `std` stands for. */
const STANDARD = 'qaccver saccver pident length mismatch gapopen qstart qend sstart send evalue bitscore'.split(' ');

/** Names of the columns of a table without a head; none for other formats. */
export function columnsOf({ formatType, formatFields = [] }: Config): readonly string[] {
  if (formatType !== 'tabular' && formatType !== 'csv') return [];
  return formatFields.flatMap((field) => (field === 'std' ? STANDARD : [field]));
}
