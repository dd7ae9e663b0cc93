// The folder of one job, `{work}/job-{internal id}`, gone with it:
//   upload    what was received          files/   the unpacked dataset, in which the commands run
//   tmp/      TMPDIR of the commands     package/ what we add to a result, and the result

import { lstat, mkdir, opendir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { detectArchiveFile } from '../../engine/archive/archive-entry.ts';
import { MAX_ENTRIES } from '../../engine/archive/archive-limits.ts';
import { isDesktopJunk, leftOutNote } from '../../engine/model/file-name.ts';
import type { JobRegistration } from '../../engine/model/handler-job.ts';
import { stringifyJson } from '../../engine/model/json.ts';
import { decodeUtf8, foreignNameFault, quoteBytes, shownBytes } from '../../engine/model/utf8.ts';
import { defect } from '../../engine/runtime/failure.ts';
import { removeTree } from '../../engine/runtime/files.ts';
import { findFiles } from '../plugin-host/workspace.ts';
import type { Archives } from '../tasks/archives.ts';

const PREFIX = 'job-';
/** Folder in which commands leave what is to be packed: an upload may not bring it along. */
export const OUTPUT_FOLDER = 'output';

export class JobFolder implements AsyncDisposable {
  readonly #root: string;
  readonly upload: string;
  readonly files: string;
  readonly tmp: string;
  readonly package: string;

  private constructor(root: string) {
    this.#root = root;
    this.upload = join(root, 'upload');
    this.files = join(root, 'files');
    this.tmp = join(root, 'tmp');
    this.package = join(root, 'package');
  }

  static async make(under: string, id: string): Promise<JobFolder> {
    const folder = new JobFolder(join(under, PREFIX + id));
    await mkdir(folder.#root, { recursive: true, mode: 0o700 });
    for (const dir of [folder.files, folder.tmp, folder.package]) await mkdir(dir);
    return folder;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeTree(this.#root);
  }
}

/** Removes the folders of a process that was killed; called before the first job. */
export async function sweepJobFolders(under: string): Promise<void> {
  await mkdir(under, { recursive: true, mode: 0o700 });
  for await (const entry of await opendir(under))
    if (entry.name.startsWith(PREFIX)) await removeTree(join(under, entry.name));
}

// What a job gives back: the one archive that its commands packed themselves (`dataset_u{owner}_*.tgz`), else everything
// under `output/`, packed here. Only what was not there before the commands ran counts.

interface JobOutput {
  /** Path on disk. */
  readonly file: string;
  readonly fileName: string;
  /** What the owner should hear of, a sentence each. */
  readonly notes: readonly string[];
}

interface OutputAbout {
  readonly registration: JobRegistration;
  /** Bytes uploaded. */
  readonly size: number;
  readonly started: Date;
  /** Of the packed dataset: who made it. */
  readonly type: { readonly name: string; readonly version: string };
}

/** Top-level names, sorted. One that is not UTF-8 is shown as its bytes, which is no name of a file. */
export async function topLevel(dir: string): Promise<readonly string[]> {
  const names = await readdir(dir, { encoding: 'buffer' });
  return names.map((name) => decodeUtf8(name) ?? shownBytes(name)).sort();
}

/** Fails `defect`, which is the commands', when there is nothing to give back or too much. */
export async function collectOutput(
  folder: JobFolder,
  before: readonly string[],
  about: OutputAbout,
  packages: Archives,
  signal: AbortSignal,
): Promise<JobOutput> {
  const known = new Set(before);
  const fresh = (await topLevel(folder.files)).filter((name) => !known.has(name));
  const { owner } = about.registration;
  const packed = fresh.filter((name) => name.startsWith(`dataset_u${owner}_`) && name.endsWith('.tgz'));
  const [own, second] = packed;
  if (own !== undefined && second !== undefined)
    throw defect(`the commands wrote ${packed.length} archives (${own}, ${second}); one is the result`);
  if (own !== undefined) return ownPackage(join(folder.files, own), own);
  if (!fresh.includes(OUTPUT_FOLDER) || !(await lstat(join(folder.files, OUTPUT_FOLDER))).isDirectory())
    throw defect(`the commands wrote neither dataset_u${owner}_*.tgz nor a folder ${OUTPUT_FOLDER}`);
  return packOutput(folder, about, packages, signal);
}

async function ownPackage(file: string, fileName: string): Promise<JobOutput> {
  const found = await lstat(file).catch(() => undefined);
  if (!found) throw defect(`the result ${fileName} of the commands has a name that is not UTF-8`);
  // A link could lead anywhere.
  if (!found.isFile()) throw defect(`the result ${fileName} of the commands is no plain file`);
  if ((await detectArchiveFile(file)) !== 'gzip') throw defect(`the result ${fileName} of the commands is no tar.gz`);
  return { file, fileName, notes: [] };
}

/** `meta.json`, `dataset.json`, and the files below `datafiles/` with their folders. */
async function packOutput(
  folder: JobFolder,
  { registration, size, started, type }: OutputAbout,
  packages: Archives,
  signal: AbortSignal,
): Promise<JobOutput> {
  const { files: found, others, misnamed } = await findFiles(join(folder.files, OUTPUT_FOLDER));
  if (misnamed[0] !== undefined)
    throw defect(`${quoteBytes(misnamed[0])} in ${OUTPUT_FOLDER} of the commands ${foreignNameFault(misnamed[0])}`);
  const files = found.filter(({ name }) => !isDesktopJunk(name));
  const note = leftOutNote(
    found.flatMap(({ name }) => (isDesktopJunk(name) ? [`${OUTPUT_FOLDER}/${name}`] : [])).slice(0, 6),
  );
  if (others[0] !== undefined)
    throw defect(`${OUTPUT_FOLDER}/${others[0].name} of the commands is neither file nor folder`);
  if (files.length === 0) throw defect(`the commands left ${OUTPUT_FOLDER} empty`);
  if (files.length > MAX_ENTRIES) throw defect(`the commands wrote more than ${MAX_ENTRIES} files`);
  const { owner, projects, name, summary = '', description = '' } = registration;
  const documents = {
    'meta.json': { name, summary, description },
    'dataset.json': {
      type,
      dependencies: [],
      projects,
      dataFiles: files.map((file) => ({ name: file.name, file: `datafiles/${file.name}`, size: file.size })),
      owner,
      size,
      created: started.getTime(),
    },
  };
  const added = await Promise.all(
    Object.entries(documents).map(async ([path, document]) => {
      const text = stringifyJson(document, 2);
      const file = join(folder.package, path);
      await writeFile(file, text);
      return { path, file, size: Buffer.byteLength(text) };
    }),
  );
  const fileName = `dataset_u${owner}_t${started.getTime()}_p${process.pid}.tgz`;
  const target = join(folder.package, fileName);
  const data = files.map((file) => ({ path: `datafiles/${file.name}`, file: file.file, size: file.size }));
  await packages.tarGz(target, [...added, ...data], signal);
  return { file: target, fileName, notes: note === undefined ? [] : [note] };
}
