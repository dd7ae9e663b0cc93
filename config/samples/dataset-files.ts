// Files of a dataset as a sample sees them: found at any depth, copied with their folders.

import { chmod, copyFile, mkdir, opendir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LIMITS, tooMany } from './limits.ts';
import { Refusal, shown } from './sample.ts';

/** Written beside the input by the plugin host; not part of the upload. */
const METADATA_FILE = 'vdi-meta.json';
const RESERVED_PREFIX = 'vdi-';

/** Relative paths with `/`, sorted; without the metadata document at the top. */
export async function listFiles(dir: string, most: number = LIMITS.files): Promise<readonly string[]> {
  const files: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    for await (const entry of await opendir(join(dir, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) await visit(path);
      else if (!entry.isFile()) throw new Refusal([`${shown(path)} is neither a file nor a folder`]);
      else if (path !== METADATA_FILE) files.push(path);
      if (files.length > most) throw new Refusal([`file ${shown(path)} ${tooMany(files.length, most)}`]);
    }
  };
  await visit('');
  return files.sort();
}

/** The one file that the type consists of. */
export async function soleFile(dir: string, what: string): Promise<string> {
  const files = await listFiles(dir);
  const [only] = files;
  if (files.length === 1 && only !== undefined) return only;
  const found = files.length === 0 ? 'none' : `${files.length}: ${files.slice(0, 5).map(shown).join(', ')}`;
  throw new Refusal([`the upload must be one ${what} file; found ${found}${files.length > 5 ? ', ...' : ''}`]);
}

/** Copies files as they are. Names that the host keeps for itself are refused. */
export async function exportFiles(from: string, files: readonly string[], to: string): Promise<void> {
  const reserved = files.filter((file) => file.startsWith(RESERVED_PREFIX));
  if (reserved.length > 0)
    throw new Refusal(reserved.slice(0, 20).map((file) => `${shown(file)}: names beginning with 'vdi-' are reserved`));
  for (const file of files) await copyOne(join(from, file), join(to, file));
}

/** Copies the whole data folder, metadata included, to the place of the dataset's files; readable by the site. */
export async function installFiles(dataDir: string, dataFiles: string): Promise<void> {
  for (const file of await listFiles(dataDir)) await copyOne(join(dataDir, file), join(dataFiles, file));
  await copyOne(join(dataDir, METADATA_FILE), join(dataFiles, METADATA_FILE)).catch(ignoreMissing);
}

async function copyOne(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o775 });
  await copyFile(from, to);
  await chmod(to, 0o664);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
