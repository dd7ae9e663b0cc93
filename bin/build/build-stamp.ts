// Which sources a build is made of, and when those were made: never the time of the build itself, so that two builds of
// one commit are the same.

import { execFileSync } from 'node:child_process';

export interface BuildStamp {
  /** 40 hexadecimal digits, with `-changed` behind them when files differ from it; `unknown` outside of git. */
  readonly commit: string;
  /** ISO 8601 in UTC: `SOURCE_DATE_EPOCH`, else of the commit. */
  readonly date: string;
}

const SOURCES = ['bin', 'engine', 'actors', 'http', 'config', 'package.json', 'package-lock.json'];

export function buildStamp(root: string, epoch: string | undefined): BuildStamp {
  if (epoch !== undefined && !/^\d{1,11}$/.test(epoch))
    throw new Error(`SOURCE_DATE_EPOCH is '${epoch}', not seconds since 1970`);
  const commit = git(root, 'rev-parse', 'HEAD');
  const seconds = epoch ?? (commit && git(root, 'log', '-1', '--format=%ct'));
  if (!seconds) throw new Error('no date for the build: this is no checkout of git, and SOURCE_DATE_EPOCH is not set');
  const changed = commit && git(root, 'status', '--porcelain', '--', ...SOURCES) !== '';
  return {
    commit: commit ? `${commit}${changed ? '-changed' : ''}` : 'unknown',
    date: `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}Z`,
  };
}

/** Undefined when there is no git, or no repository. */
function git(root: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
