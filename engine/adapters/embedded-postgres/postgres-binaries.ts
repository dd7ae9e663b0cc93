// Finds PostgreSQL programs that a given user can run. If the operator names a directory, only its programs are used. Otherwise
// the first usable ones of the npm package, the PATH, and Debian's directories. Only programs of the major version that created
// the data directory can serve it, so others are skipped.

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Account } from './postgres-account.ts';
import { copyPrograms, linkLibraries, packagedPostgres } from './postgres-package.ts';

const run = promisify(execFile);
/** Debian installs each major version in its own folder, which is not on the PATH. */
const DEBIAN = '/usr/lib/postgresql';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

export interface BinarySearch {
  /** Directory with `initdb` and `postgres`; undefined = search. */
  readonly binDir?: string | undefined;
  /** The environment's PATH, separated by colons. */
  readonly path?: string | undefined;
  /** Major version of the data directory; undefined = any. */
  readonly major?: number | undefined;
  /** Where the package's programs may be copied to, in order of preference. */
  readonly copyTo: readonly string[];
  /** The account that will run the programs; undefined = this process's. */
  readonly account: Account | undefined;
  /** The folder of the npm package, and of Debian's versions; set by tests. */
  readonly packaged?: string | undefined;
  readonly debian?: string;
}

/**
 * The first location from which `account` can run the programs. The failure lists every location, why it is unusable, and what
 * to do.
 */
export async function findPostgresBinaries(search: BinarySearch): Promise<PostgresBinaries> {
  const tried: string[] = [];
  if (search.binDir !== undefined) {
    const found = await usable(search.binDir, search, tried);
    if (found) return found;
    throw nothing(search, tried, 'use another directory with --postgres-bin');
  }
  const packaged = 'packaged' in search ? search.packaged : packagedPostgres();
  const found = (packaged && (await fromPackage(packaged, search, tried))) ?? (await fromSystem(search, tried));
  if (found) return found;
  const wanted = search.major === undefined ? 'PostgreSQL' : `PostgreSQL ${search.major}`;
  const debian = search.major === undefined ? 'postgresql' : `postgresql-${search.major}`;
  throw nothing(
    search,
    tried,
    `install ${wanted} (Debian: apt-get install ${debian}), or put its programs on PATH, or name their directory with --postgres-bin DIR`,
  );
}

async function fromPackage(
  native: string,
  search: BinarySearch,
  tried: string[],
): Promise<PostgresBinaries | undefined> {
  await linkLibraries(native, native).catch(() => undefined); // may be read-only: a copy will have the links
  const inPlace = await usable(join(native, 'bin'), search, tried);
  if (inPlace) return inPlace;
  for (const place of search.copyTo) {
    try {
      await copyPrograms(native, place);
    } catch (error) {
      tried.push(`${place}: ${messageOf(error)}`);
      continue;
    }
    const copied = await usable(join(place, 'bin'), search, tried);
    if (copied) return copied;
  }
  return undefined;
}

async function fromSystem(search: BinarySearch, tried: string[]): Promise<PostgresBinaries | undefined> {
  const onPath = (search.path ?? '').split(delimiter).filter(isAbsolute);
  const debian = search.debian ?? DEBIAN;
  const versions = (await readdir(debian).catch(() => []))
    .filter((name) => /^\d+$/.test(name))
    .sort((a, b) => Number(b) - Number(a));
  for (const binDir of new Set([...onPath, ...versions.map((version) => join(debian, version, 'bin'))])) {
    // Most directories of the PATH contain no PostgreSQL.
    if (!(await executable(join(binDir, 'postgres')))) continue;
    const found = await usable(binDir, search, tried);
    if (found) return found;
  }
  return undefined;
}

async function usable(binDir: string, search: BinarySearch, tried: string[]): Promise<PostgresBinaries | undefined> {
  const found = { initdb: join(binDir, 'initdb'), postgres: join(binDir, 'postgres') };
  const options = { timeout: 10_000, cwd: '/', ...search.account };
  try {
    await run(found.initdb, ['--version'], options);
    const { stdout } = await run(found.postgres, ['--version'], options);
    const version = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1];
    if (search.major === undefined || Number(version) === search.major) return found;
    tried.push(`${binDir}: version ${version}, but the data directory needs version ${search.major}`);
  } catch (error) {
    tried.push(`${binDir}: ${messageOf(error).split('\n')[0]}`);
  }
  return undefined;
}

function nothing({ major }: BinarySearch, tried: readonly string[], advice: string): Failure {
  const what = major === undefined ? 'no usable PostgreSQL programs' : `no usable programs of PostgreSQL ${major}`;
  return new Failure('transient', `${what}${tried.length > 0 ? ` (${tried.join('; ')})` : ''}; ${advice}`);
}

const executable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
