// Query jobs as directories, `{root}/{id}/`, with the result as `report.asn1` and its description as `job.json`. A job
// appears whole: it is made under another name and renamed. Whoever makes one touches its directory now and then, so that
// one which nobody makes any more is told by its age, whichever machine that was.

import { createReadStream, createWriteStream } from 'node:fs';
import { access, constants, link, mkdtemp, open, opendir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseQueryJob, type QueryJob, type QueryJobId, serialiseQueryJob } from '../../model/report/query-job.ts';
import { decodeDocument } from '../../model/utf8.ts';
import type { QueryJobs } from '../../ports/blast.ts';
import { defect, Failure, kindOf, messageOf, transient } from '../../runtime/failure.ts';
import type { Clock } from '../../runtime/time.ts';

const DESCRIPTION = 'job.json';
const ARCHIVE = 'report.asn1';
const MAX_DESCRIPTION_BYTES = 1024 * 1024;
/** Two file systems, one that has no links, or a file that is not ours to link. */
const NO_LINK = ['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];
const ABSENT = ['ENOENT', 'ENOTDIR'];
const BEGUN = '.new-';
const TOUCH_MS = 10 * 60_000;
const ABANDONED_MS = 60 * 60_000;

export class QueryJobsDirectory implements QueryJobs {
  readonly #root: string;

  constructor({ root }: { readonly root: string }) {
    this.#root = root;
  }

  async find(id: QueryJobId, signal: AbortSignal): Promise<QueryJob | undefined> {
    signal.throwIfAborted();
    const file = join(this.#root, id, DESCRIPTION);
    const text = await this.#unlessAbsent(file, () => readBounded(file), signal);
    return text === undefined ? undefined : parseQueryJob(id, text, file);
  }

  async putArchive(id: QueryJobId, file: string, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const archive = join(this.#root, id, ARCHIVE);
    const found = await this.#unlessAbsent(archive, () => stat(archive), signal);
    if (!found) return false;
    if (!found.isFile()) throw defect(`${archive} is no file`);
    try {
      await link(archive, file).catch((error: unknown) => {
        if (!NO_LINK.includes(codeOf(error))) throw error;
        return copy(archive, file, signal);
      });
      return true;
    } catch (error) {
      // Removed since we looked.
      if (codeOf(error) === 'ENOENT' && !(await this.#unlessAbsent(archive, () => stat(archive), signal))) return false;
      throw fault(error, `the result of query job ${id} cannot be put at ${file}`);
    }
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    try {
      await access(this.#root, constants.R_OK | constants.X_OK);
      if (!(await stat(this.#root)).isDirectory()) throw new Error('it is no directory');
    } catch (cause) {
      const message = `the directory of query jobs, ${this.#root}, cannot be read: ${messageOf(cause)}`;
      throw transient(message, { cause, unreachable: true });
    }
  }

  /** A place for the files of a job that is being made, on the same file system. */
  async begin(clock: Clock): Promise<QueryJobFolder> {
    try {
      return new QueryJobFolder(this.#root, await mkdtemp(join(this.#root, BEGUN)), clock);
    } catch (error) {
      throw fault(error, `no query job can be made in ${this.#root}`);
    }
  }

  /** Removes what was begun by processes that were killed; how many that were. Nothing when there is no root. */
  async sweep(clock: Clock): Promise<number> {
    let removed = 0;
    try {
      for await (const { name } of await opendir(this.#root)) {
        if (!name.startsWith(BEGUN)) continue;
        const path = join(this.#root, name);
        const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
        if (clock.now() - mtimeMs <= ABANDONED_MS) continue;
        await rm(path, { recursive: true, force: true });
        removed++;
      }
    } catch (error) {
      if (!ABSENT.includes(codeOf(error))) throw fault(error, `${this.#root} cannot be swept`);
    }
    return removed;
  }

  /** Undefined where there is no such file, though there is the directory of all jobs. */
  async #unlessAbsent<Found>(
    file: string,
    look: () => Promise<Found>,
    signal: AbortSignal,
  ): Promise<Found | undefined> {
    try {
      return await look();
    } catch (error) {
      if (!ABSENT.includes(codeOf(error))) throw fault(error, `${file} cannot be read`);
      await this.probe(signal);
      return undefined;
    }
  }
}

/** Removed with what is in it unless it was kept. */
export class QueryJobFolder implements AsyncDisposable {
  /** Absolute when the root is. */
  readonly path: string;
  readonly archive: string;
  readonly #root: string;
  #stopTouching: () => void;

  constructor(root: string, path: string, clock: Clock) {
    this.#root = root;
    this.path = path;
    this.archive = join(path, ARCHIVE);
    const touchLater = (): (() => void) =>
      clock.after(TOUCH_MS, () => {
        const now = clock.now() / 1000;
        // Gone, it needs no touch; a disk that takes none takes no job either.
        void utimes(path, now, now).catch(() => undefined);
        this.#stopTouching = touchLater();
      });
    this.#stopTouching = touchLater();
  }

  /** The archive must have been written. A job of that id that is there already stays as it is. */
  async keep(job: QueryJob): Promise<void> {
    try {
      await using description = await open(join(this.path, DESCRIPTION), 'wx', 0o644);
      await description.writeFile(serialiseQueryJob(job));
      await description.sync();
      await synced(this.archive);
      await synced(this.path);
      // Made for its owner alone; whoever reads jobs may be another.
      await using folder = await open(this.path);
      await folder.chmod(0o755);
      if (await renamedUnlessThere(this.path, join(this.#root, job.id))) await synced(this.#root);
    } catch (error) {
      throw fault(error, `query job ${job.id} cannot be kept`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopTouching();
    await rm(this.path, { recursive: true, force: true });
  }
}

async function readBounded(file: string): Promise<string> {
  await using handle = await open(file);
  const { size } = await handle.stat();
  if (size > MAX_DESCRIPTION_BYTES) throw defect(`${file} has ${size} bytes: it describes no query job`);
  const text = decodeDocument(await handle.readFile());
  if (text === undefined) throw defect(`${file} is not UTF-8: it describes no query job`);
  return text;
}

async function copy(from: string, to: string, signal: AbortSignal): Promise<void> {
  const target = createWriteStream(to, { flags: 'wx' });
  let opened = false;
  target.once('open', () => {
    opened = true;
  });
  try {
    await pipeline(createReadStream(from), target, { signal });
  } catch (error) {
    // What was there before us is not ours to remove.
    if (opened) await rm(to, { force: true });
    throw error;
  }
}

/** False when another job is there. */
async function renamedUnlessThere(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) return false;
    throw error;
  }
}

async function synced(path: string): Promise<void> {
  await using handle = await open(path);
  await handle.sync();
}

/** What stands in the way of a link or of reading is an operator's or a passing fault; the caller's path is a bug. */
function fault(error: unknown, what: string): unknown {
  if (error instanceof Failure || kindOf(error) === 'aborted') return error;
  const failure = ['EEXIST', 'EISDIR', 'ERR_INVALID_ARG_VALUE'].includes(codeOf(error)) ? defect : transient;
  return failure(`${what}: ${messageOf(error)}`, { cause: error });
}

const codeOf = (error: unknown): string => (error as Partial<NodeJS.ErrnoException>)?.code ?? '';
