// Why a report cannot be made, in words for whoever asked for it, with what the formatter said before.

import { Failure } from '../../engine/runtime/failure.ts';

export class ReportFailure extends Failure {
  /** The end of what the formatter said. */
  readonly stderr: string;

  constructor(message: string, stderr = '', cause?: unknown) {
    super('rejected', message, cause === undefined ? {} : { cause });
    this.name = 'ReportFailure';
    this.stderr = stderr;
  }
}

/** What was said, and the reason as its last line. */
export const withReason = (stderr: string, reason: string): string =>
  `${stderr === '' || stderr.endsWith('\n') ? stderr : `${stderr}\n`}${reason}\n`;

export const oneLine = (text: string): string => text.trim().replace(/\s*[\r\n]+\s*/g, ' ');

/** Where things lie on this machine is nobody's business who reads a report. */
export function withoutPaths(text: string, names: Readonly<Record<string, string>>): string {
  const longestFirst = Object.keys(names).sort((a, b) => b.length - a.length);
  return longestFirst.reduce(
    (rest, path) => (path.length > 1 ? rest.replaceAll(path, `[${names[path]}]`) : rest),
    text,
  );
}
