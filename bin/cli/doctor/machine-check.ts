// Checks the process's environment: the version of Node.js, and the limit of open files.

import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { type Check, fault, type Problem, warning } from './check.ts';

export interface MachineOptions {
  /** Files and sockets that the configuration may have open at once. */
  readonly wantedFiles: number;
}

/** The first version that runs TypeScript without a build. */
const OLDEST_NODE = 24;
const FEWEST_FILES = 1_024;

export const machineCheck = ({ wantedFiles }: MachineOptions): Check => ({
  name: 'machine',
  where: hostname(),
  tried: 'check the version of Node.js and the limit of open files',
  async look() {
    const limit = openFilesOf(await readFile('/proc/self/limits', 'utf8').catch(() => ''));
    const files = limit === undefined ? 'unknown limit of open files' : `${limit} open files`;
    return {
      says: `Node.js ${process.versions.node}, ${files}`,
      problems: [...nodeProblems(process.versions.node), ...filesProblems(limit, wantedFiles)],
    };
  },
  explain: () => 'check /proc/self/limits',
});

/** Exported for its test. */
export function nodeProblems(version: string): readonly Problem[] {
  if (Number.parseInt(version, 10) >= OLDEST_NODE) return [];
  const fix = `run longshore with Node.js ${OLDEST_NODE} or later; npm ci installs a tested version`;
  return [fault(`Node.js ${version} is too old`, fix)];
}

/** Exported for its test. */
export function filesProblems(limit: number | undefined, wanted: number): readonly Problem[] {
  if (limit === undefined || limit >= Math.max(wanted, FEWEST_FILES)) return [];
  const fix = `ulimit -n ${wanted}, LimitNOFILE=${wanted} in a systemd unit, or --ulimit nofile=${wanted} for a container`;
  return limit < FEWEST_FILES
    ? [fault(`only ${limit} files may be open at once`, fix)]
    : [warning(`${limit} files may be open at once, but the configuration may need ${wanted}`, fix)];
}

/** The effective (soft) limit. Undefined when there is none, or when it cannot be read. */
export function openFilesOf(limits: string): number | undefined {
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
