// Why a report cannot be made, phrased for the user, together with the formatter's stderr up to then.

import { Failure } from '../../engine/runtime/failure.ts';

export class ReportFailure extends Failure {
  /** The end of the formatter's stderr. */
  readonly stderr: string;

  constructor(message: string, stderr = '', cause?: unknown) {
    super('rejected', message, cause === undefined ? {} : { cause });
    this.name = 'ReportFailure';
    this.stderr = stderr;
  }
}

/** The stderr, with the reason as its last line. */
export const withReason = (stderr: string, reason: string): string =>
  `${stderr === '' || stderr.endsWith('\n') ? stderr : `${stderr}\n`}${reason}\n`;

export const oneLine = (text: string): string => text.trim().replace(/\s*[\r\n]+\s*/g, ' ');

/** Hides local paths: readers of a report must not learn this machine's directory layout. */
export function withoutPaths(text: string, names: Readonly<Record<string, string>>): string {
  const longestFirst = Object.keys(names).sort((a, b) => b.length - a.length);
  return longestFirst.reduce(
    (rest, path) => (path.length > 1 ? rest.replaceAll(path, `[${names[path]}]`) : rest),
    text,
  );
}
