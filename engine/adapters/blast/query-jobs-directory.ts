// Query jobs as directories, `{root}/{id}/`, with the result as `report.asn1` and its description as `job.json`. A job appears
// atomically: it is created under another name and then renamed. Its creator touches the directory periodically, so an
// abandoned one is recognized by its age, whichever machine created it.

import { createReadStream, createWriteStream } from 'node:fs';
import { access, constants, link, mkdtemp, open, opendir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseQueryJob, type QueryJob, type QueryJobId, serialiseQueryJob } from '../../model/report/query-job.ts';
import { decodeDocument } from '../../model/utf8.ts';
import type { QueryJobs } from '../../ports/report-jobs.ts';
import { codeOf, defect, Failure, kindOf, messageOf, transient } from '../../runtime/failure.ts';
import type { Clock } from '../../runtime/time.ts';

const DESCRIPTION = 'job.json';
const ARCHIVE = 'report.asn1';
const MAX_DESCRIPTION_BYTES = 1024 * 1024;
/** Reasons for no hard link: two file systems, a file system without links, or a file that we may not link. */
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
    if (!found.isFile()) throw defect(`${archive} is not a file`);
    try {
      await link(archive, file).catch((error: unknown) => {
        if (!NO_LINK.includes(codeOf(error) ?? '')) throw error;
        return copy(archive, file, signal);
      });
      return true;
    } catch (error) {
      // Removed after the check.
      if (codeOf(error) === 'ENOENT' && !(await this.#unlessAbsent(archive, () => stat(archive), signal))) return false;
      throw fault(error, `the result of query job ${id} cannot be put at ${file}`);
    }
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    try {
      await access(this.#root, constants.R_OK | constants.X_OK);
      if (!(await stat(this.#root)).isDirectory()) throw new Error('it is not a directory');
    } catch (cause) {
      const message = `the directory of query jobs, ${this.#root}, cannot be read: ${messageOf(cause)}`;
      throw transient(message, { cause, unreachable: true });
    }
  }

  /** A folder for the files of a job in progress, on the same file system. */
  async begin(clock: Clock): Promise<QueryJobFolder> {
    try {
      return new QueryJobFolder(this.#root, await mkdtemp(join(this.#root, BEGUN)), clock);
    } catch (error) {
      throw fault(error, `no query job can be created in ${this.#root}`);
    }
  }

  /** Removes unfinished jobs of killed processes and returns how many. Does nothing if the root does not exist. */
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
      if (!ABSENT.includes(codeOf(error) ?? '')) throw fault(error, `${this.#root} cannot be cleaned up`);
    }
    return removed;
  }

  /** Undefined if the file does not exist although the root does. */
  async #unlessAbsent<Found>(
    file: string,
    look: () => Promise<Found>,
    signal: AbortSignal,
  ): Promise<Found | undefined> {
    try {
      return await look();
    } catch (error) {
      if (!ABSENT.includes(codeOf(error) ?? '')) throw fault(error, `${file} cannot be read`);
      await this.probe(signal);
      return undefined;
    }
  }
}

/** Disposing removes it with its contents, unless it was kept. */
class QueryJobFolder implements AsyncDisposable {
  /** Absolute if the root is. */
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
        // Failures are irrelevant: a folder that is gone needs no touch, and a disk that cannot be written cannot store the job
        // either.
        void utimes(path, now, now).catch(() => undefined);
        this.#stopTouching = touchLater();
      });
    this.#stopTouching = touchLater();
  }

  /** The archive must have been written. An existing job with this id stays as it is. */
  async keep(job: QueryJob): Promise<void> {
    try {
      await using description = await open(join(this.path, DESCRIPTION), 'wx', 0o644);
      await description.writeFile(serialiseQueryJob(job));
      await description.sync();
      await synced(this.archive);
      await synced(this.path);
      // mkdtemp creates it for its owner only, but another user may read the jobs.
      await using folder = await open(this.path);
      await folder.chmod(0o755);
      if (await renamedUnlessThere(this.path, join(this.#root, job.id))) await synced(this.#root);
    } catch (error) {
      throw fault(error, `query job ${job.id} cannot be stored`);
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
  if (size > MAX_DESCRIPTION_BYTES) throw defect(`${file} has ${size} bytes, too large for a query job description`);
  const text = decodeDocument(await handle.readFile());
  if (text === undefined) throw defect(`${file} is not UTF-8, so it is not a query job description`);
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
    // A file that existed before must not be removed.
    if (opened) await rm(to, { force: true });
    throw error;
  }
}

/** False when the target exists. */
async function renamedUnlessThere(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}

async function synced(path: string): Promise<void> {
  await using handle = await open(path);
  await handle.sync();
}

/** Failures to link or read can be fixed by the operator or pass by themselves. An invalid path of the caller is a defect. */
function fault(error: unknown, what: string): unknown {
  if (error instanceof Failure || kindOf(error) === 'aborted') return error;
  const failure = ['EEXIST', 'EISDIR', 'ERR_INVALID_ARG_VALUE'].includes(codeOf(error) ?? '') ? defect : transient;
  return failure(`${what}: ${messageOf(error)}`, { cause: error });
}
