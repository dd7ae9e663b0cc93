// The lines of a log file, without what no test can know.

import { readFileSync, watch } from 'node:fs';

export type LogLine = Readonly<Record<string, unknown>>;

export function linesOf(file: string): LogLine[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { pid: _pid, time: _time, ...rest } = JSON.parse(line) as Record<string, unknown>;
      return rest;
    });
}

/** Resolves with the line that is the n-th with this message, as soon as the process has written it. */
export async function logged(file: string, message: string, nth: number): Promise<LogLine> {
  const written = Promise.withResolvers<LogLine>();
  const look = (): void => {
    const text = readFileSync(file, 'utf8');
    // The last line may be half there.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
    const lines = whole.filter((line) => line !== '').map((line) => JSON.parse(line) as LogLine);
    const found = lines.filter(({ msg }) => msg === message)[nth - 1];
    if (found) written.resolve(found);
  };
  const watcher = watch(file, look);
  try {
    look();
    return await written.promise;
  } finally {
    watcher.close();
  }
}
