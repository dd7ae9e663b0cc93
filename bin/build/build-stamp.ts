// The commit and date of the sources of a build. Never the time of the build itself, so that two builds of one commit are
// identical.

import { execFileSync } from 'node:child_process';

export interface BuildStamp {
  /** 40 hexadecimal digits, with the suffix `-changed` when files differ from the commit; `unknown` outside of git. */
  readonly commit: string;
  /** ISO 8601 in UTC: `SOURCE_DATE_EPOCH`, otherwise the date of the commit. */
  readonly date: string;
}

const SOURCES = ['bin', 'engine', 'actors', 'http', 'config', 'package.json', 'package-lock.json'];

export function buildStamp(root: string, epoch: string | undefined): BuildStamp {
  if (epoch !== undefined && !/^\d{1,11}$/.test(epoch))
    throw new Error(`SOURCE_DATE_EPOCH is '${epoch}', not seconds since 1970`);
  const commit = git(root, 'rev-parse', 'HEAD');
  const seconds = epoch ?? (commit && git(root, 'log', '-1', '--format=%ct'));
  if (!seconds) throw new Error('no date for the build: this is not a git checkout, and SOURCE_DATE_EPOCH is not set');
  const changed = commit && git(root, 'status', '--porcelain', '--', ...SOURCES) !== '';
  return {
    commit: commit ? `${commit}${changed ? '-changed' : ''}` : 'unknown',
    date: `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}Z`,
  };
}

/** Undefined when git or the repository is missing. */
function git(root: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
