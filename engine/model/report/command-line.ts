// How a BLAST+ program is run: the formatter's arguments for a configuration, the files that it then writes, and the
// environment.

import type { ResolvedConfig } from './blast-config.ts';
import { type FormatType, formatNumber, formatRow, STANDARD_FIELD } from './format-types.ts';
import { cellOf, isText, OPTIONS, type OptionName, SORT_HITS, SORT_HSPS } from './options.ts';

/** Contains all other files of a job. */
export const REPORT_ARCHIVE = { name: 'report.zip', mediaType: 'application/zip' } as const;

/** What the formatter writes into its working directory. */
interface ReportOutput {
  /** The value of `-out`. */
  readonly written: string;
  /**
   * The final name of this file. The formatter's index of several files names them correctly only when it is renamed
   * afterwards.
   */
  readonly file: string;
  /** Matches the files beside it, one per query; undefined when there are none. */
  readonly parts: RegExp | undefined;
  /** The media type of all of them. */
  readonly mediaType: string;
}

export function outputOf(type: FormatType): ReportOutput {
  const { file, mediaType, several } = formatRow(type);
  const [stem = '', extension = ''] = file.split('.');
  if (!several) return { written: file, file, parts: undefined, mediaType };
  return { written: stem, file, parts: new RegExp(`^${stem}_[1-9][0-9]*\\.${extension}$`), mediaType };
}

/** The media type of a file of a job of that type; undefined for a file that does not belong to the job. */
export function mediaTypeOf(type: FormatType, file: string): string | undefined {
  const output = outputOf(type);
  if (file === REPORT_ARCHIVE.name) return REPORT_ARCHIVE.mediaType;
  return file === output.file || output.parts?.test(file) ? output.mediaType : undefined;
}

/**
 * The arguments of `blast_formatter`, each one unescaped: never pass them through a shell.
 * @param archive name of the query's result in the working directory
 */
export function formatterArguments(config: ResolvedConfig, archive: string): readonly string[] {
  const { formatType, sortHits, sortHSPs } = config;
  const has = (option: OptionName): boolean => cellOf(option, formatType) === 'effective';
  const flag = (option: OptionName, on: boolean): readonly string[] =>
    on && has(option) ? [OPTIONS[option].flag] : [];
  const value = (option: OptionName, given: number | undefined): readonly string[] =>
    given !== undefined && has(option) ? [OPTIONS[option].flag, String(given)] : [];
  return [
    ...['-archive', archive, '-out', outputOf(formatType).written],
    ...[OPTIONS.formatType.flag, outputFormat(config)],
    ...flag('showGIs', config.showGIs),
    ...value('numDescriptions', config.numDescriptions),
    ...value('numAlignments', config.numAlignments),
    ...value('lineLength', config.lineLength),
    ...value('sortHits', sortHits && SORT_HITS.indexOf(sortHits)),
    ...value('sortHSPs', sortHSPs && SORT_HSPS.indexOf(sortHSPs)),
    ...most(config, value),
    ...flag('parseDefLines', config.parseDefLines),
  ];
}

/** In text formats the formatter obeys its own option only when the archive holds at most 500 hits per query. */
function most(
  { formatType, maxTargetSequences }: ResolvedConfig,
  value: (option: OptionName, given: number | undefined) => readonly string[],
): readonly string[] {
  if (!isText(formatType)) return value('maxTargetSequences', maxTargetSequences);
  return [...value('numDescriptions', maxTargetSequences), ...value('numAlignments', maxTargetSequences)];
}

function outputFormat({ formatType, formatFields = [] }: ResolvedConfig): string {
  const standard = formatFields.length === 1 && formatFields[0] === STANDARD_FIELD;
  return [formatNumber(formatType), ...(standard ? [] : formatFields)].join(' ');
}

interface ToolPlace {
  /** Where programs are searched. */
  readonly path: string;
  /** A directory of this run only, so that settings of the service's account do not apply. */
  readonly home: string;
  /** Where databases with relative names are searched. */
  readonly searchPath: readonly string[];
}

/** The complete environment of a BLAST+ program: no other variable of the service gets into it. */
export const toolEnvironment = ({ path, home, searchPath }: ToolPlace): Readonly<Record<string, string>> => ({
  PATH: path,
  HOME: home,
  ...(searchPath.length > 0 ? { BLASTDB: searchPath.join(':') } : {}),
  LANG: 'C.UTF-8',
  // Otherwise the program reports every run to its makers.
  BLAST_USAGE_REPORT: 'false',
});
