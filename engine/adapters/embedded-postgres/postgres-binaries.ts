// Finds PostgreSQL programs that a given uid may run: those of a directory given by the operator and no others, else the
// first that do of the npm package, of the search path, of where Debian puts them. A data directory is served by
// programs of the major version that made it, so others are passed over.

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Account } from './postgres-account.ts';
import { copyPrograms, linkLibraries, packagedPostgres } from './postgres-package.ts';

const run = promisify(execFile);
/** Debian keeps each major version in a folder of its own, out of the search path. */
const DEBIAN = '/usr/lib/postgresql';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

export interface BinarySearch {
  /** Directory with `initdb` and `postgres`; absent = wherever there are some. */
  readonly binDir?: string | undefined;
  /** The environment's search path, colons between directories. */
  readonly path?: string | undefined;
  /** Major version of the data that they are to serve; absent = any. */
  readonly major?: number | undefined;
  /** Where a copy of the package's may be put, in order of preference. */
  readonly copyTo: readonly string[];
  /** User the programs will run as; undefined = this process's. */
  readonly account: Account | undefined;
  /** The folder of the npm package, and of Debian's versions; tests give others. */
  readonly packaged?: string | undefined;
  readonly debian?: string;
}

/** The first place from which `uid` can run the programs. Fails with every place tried, why it did not do, what to do. */
export async function findPostgresBinaries(search: BinarySearch): Promise<PostgresBinaries> {
  const tried: string[] = [];
  if (search.binDir !== undefined) {
    const found = await usable(search.binDir, search, tried);
    if (found) return found;
    throw nothing(search, tried, 'name another directory with --postgres-bin');
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
  await linkLibraries(native, native).catch(() => undefined); // not ours to write: a copy will have them
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
    // Most directories of a search path have nothing to do with this.
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
    tried.push(`${binDir}: of version ${version}, but the data is of version ${search.major}`);
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
