// The lines of a log file, without what no test can know.

import { readFileSync } from 'node:fs';

export function linesOf(file: string): Record<string, unknown>[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { pid: _pid, time: _time, ...rest } = JSON.parse(line) as Record<string, unknown>;
      return rest;
    });
}
