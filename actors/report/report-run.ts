// One run of a claimed report job: check that the data are unchanged, format, store the files. Readers get only the files of a
// complete job, which are those of one attempt. Until the outcome is written, nobody sees an attempt's files, so a run that
// stops anywhere has published nothing.

import { lstat, mkdir, opendir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_ENTRIES } from '../../engine/archive/archive-limits.ts';
import { type ArchiveDigests, digested } from '../../engine/model/digest.ts';
import { formatterArguments, outputOf, REPORT_ARCHIVE } from '../../engine/model/report/command-line.ts';
import type { FormatType } from '../../engine/model/report/format-types.ts';
import { QUERY_PROGRAMS, type QueryJob } from '../../engine/model/report/query-job.ts';
import { attemptPrefix, type ReportFile, reportFileKey } from '../../engine/model/report/report-job.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type {
  BlastDatabases,
  QueryJobs,
  ReportClaim,
  ReportOutcome,
  StoredReportFile,
} from '../../engine/ports/report-jobs.ts';
import { kindOf, messageOf, transient } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { removeListed } from '../dataset/remove-objects.ts';
import { Scratch } from '../jobs/scratch.ts';
import { type Formatter, type FormatterOptions, ReportFailure, tooLarge, withoutPaths } from './formatter.ts';

/** Name of the query's result in the formatter's folder; no report file has this name. */
const QUERY_ARCHIVE = 'query-result';
const ZIP_LEVEL = 1;
/** Deadline for removing what an unsuccessful run has put into the store. */
const TAKE_BACK_MS = 5_000;

/** Writes a zip; equal files produce equal zips. It blocks while it writes, so it belongs in a worker thread. */
export type WriteZip = (
  target: string,
  files: readonly { readonly path: string; readonly file: string; readonly size: number }[],
  options: { readonly level: number; readonly digests: true },
  signal: AbortSignal,
) => Promise<{ readonly bytes: number; readonly digests?: ArchiveDigests }>;

interface ReportRunParts {
  readonly queries: QueryJobs;
  readonly databases: BlastDatabases;
  readonly formatter: Formatter;
  readonly folders: ReportFolders;
  readonly zip: WriteZip;
  readonly store: Pick<ObjectStore, 'put' | 'list' | 'remove'>;
  readonly metrics: ReportMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

export class ReportRun {
  readonly #maxOutputBytes: number;
  readonly #databaseDirectories: Readonly<Record<string, string>>;
  readonly #parts: ReportRunParts;

  constructor(options: Pick<FormatterOptions, 'maxOutputBytes' | 'searchPath'>, parts: ReportRunParts) {
    this.#maxOutputBytes = options.maxOutputBytes;
    this.#databaseDirectories = Object.fromEntries(options.searchPath.map((dir) => [dir, 'databases']));
    this.#parts = parts;
  }

  /** Rejects with a {@link ReportFailure} when no report is possible, and with other failures when something is unavailable. */
  run(claim: ReportClaim, signal: AbortSignal): Promise<ReportOutcome> {
    return this.#parts.folders.using(claim, async (folder) => {
      const hidden = { [folder.work]: 'work', [folder.home]: 'home', ...this.#databaseDirectories };
      try {
        const { files, stderr } = await this.#make(claim, folder, signal);
        const ended = new Date(this.#parts.clock.now());
        return { kind: 'complete', ended, files, stderr: withoutPaths(stderr, hidden) };
      } catch (error) {
        if (!(error instanceof ReportFailure)) throw error;
        throw new ReportFailure(withoutPaths(error.message, hidden), withoutPaths(error.stderr, hidden), error);
      }
    });
  }

  async #make(
    claim: ReportClaim,
    folder: ReportFolder,
    signal: AbortSignal,
  ): Promise<{ readonly files: readonly StoredReportFile[]; readonly stderr: string }> {
    const query = await this.#query(claim, signal);
    await this.#compare(claim, query, signal);
    const stderr = await this.#format(claim, folder, signal);
    const limits = { maxBytes: this.#maxOutputBytes, stderr };
    const output = await collectOutput(folder.work, claim.configuration.formatType, limits);
    // If the database was rebuilt while the formatter read it, the output would mix both versions.
    await this.#compare(claim, query, signal);
    return { files: await this.#keep(claim, output, folder, signal), stderr };
  }

  async #query({ queryId, fingerprint }: ReportClaim, signal: AbortSignal): Promise<QueryJob> {
    const query = await this.#parts.queries.find(queryId, signal);
    if (!query) throw new ReportFailure(`the query job ${queryId} no longer exists`);
    if (query.status !== 'complete') throw new ReportFailure(`the query job ${queryId} is ${query.status}`);
    if (query.fingerprint !== fingerprint)
      throw new ReportFailure(
        `the query job ${queryId} searched different databases than this report was requested for`,
      );
    return query;
  }

  /** A result refers to sequences by position. With another database it would be misread without an error. */
  async #compare({ queryId, fingerprint }: ReportClaim, query: QueryJob, signal: AbortSignal): Promise<void> {
    const { databases } = this.#parts;
    const found = await databases
      .fingerprint(query.databases, QUERY_PROGRAMS[query.program], signal)
      .catch((error: unknown) => {
        // It is being moved or replaced and may be back in a moment, so this must not become a permanent failure.
        throw kindOf(error) === 'rejected'
          ? transient(withoutPaths(messageOf(error), this.#databaseDirectories), { cause: error })
          : error;
      });
    if (found !== fingerprint)
      throw new ReportFailure(`a database was rebuilt since the query job ${queryId} searched it`);
  }

  async #format(claim: ReportClaim, { work, home }: ReportFolder, signal: AbortSignal): Promise<string> {
    const { queries, formatter, metrics, clock } = this.#parts;
    const { id, attempt, queryId, configuration } = claim;
    if (!(await queries.putArchive(queryId, `${work}/${QUERY_ARCHIVE}`, signal)))
      throw new ReportFailure(`the result of the query job ${queryId} no longer exists`);
    const args = formatterArguments(configuration, QUERY_ARCHIVE);
    const runId = `report-${id}-${attempt}`;
    const begun = clock.now();
    try {
      return await formatter.run({ runId, args, work, home, archive: QUERY_ARCHIVE }, signal);
    } finally {
      metrics.ran(configuration.formatType, clock.now() - begun);
    }
  }

  async #keep(
    claim: ReportClaim,
    output: readonly OutputFile[],
    folder: ReportFolder,
    signal: AbortSignal,
  ): Promise<readonly StoredReportFile[]> {
    const { zip, store, metrics } = this.#parts;
    const packed = output.map(({ name, file, size }) => ({ path: name, file, size }));
    const written = digested(output, await zip(folder.zip, packed, { level: ZIP_LEVEL, digests: true }, signal));
    const all = [...written.files, { name: REPORT_ARCHIVE.name, file: folder.zip, ...written.zip }];
    const stored: StoredReportFile[] = [];
    try {
      for (const { name, file, size, sha256 } of all) {
        const { etag } = await store.put(reportFileKey(claim.id, claim.attempt, name), { file }, {}, signal);
        stored.push({ name, size, digest: { etag, sha256 } });
      }
    } catch (error) {
      await this.#takeBack(claim);
      throw error;
    }
    metrics.kept(output.reduce((sum, { size }) => sum + size, 0));
    return stored;
  }

  /** Whatever remains is removed with the attempt's debris. */
  async #takeBack({ id, attempt }: ReportClaim): Promise<void> {
    const { store, clock, log } = this.#parts;
    using late = deadline(clock, TAKE_BACK_MS, undefined, () =>
      transient('the object store did not respond within the deadline'),
    );
    await removeListed(store, attemptPrefix(id, attempt), () => true, late.signal).catch((error: unknown) =>
      log.debug({ err: messageOf(error), report: id }, 'files of an unfinished report could not be removed yet'),
    );
  }
}

// The formatter's output files, by the names of its format type. Nothing else is part of the report.

interface OutputFile extends ReportFile {
  /** Path on disk. */
  readonly file: string;
}

/** The file or index first, then the files of the queries in order. */
async function collectOutput(
  dir: string,
  type: FormatType,
  { maxBytes, stderr }: { readonly maxBytes: number; readonly stderr: string },
): Promise<readonly OutputFile[]> {
  const { written, file, parts } = outputOf(type);
  const names: string[] = [];
  for await (const { name } of await opendir(dir)) if (parts?.test(name)) names.push(name);
  if (names.length >= MAX_ENTRIES) throw new ReportFailure(`the report has more than ${MAX_ENTRIES} files`, stderr);
  names.sort((a, b) => numberOf(a) - numberOf(b));
  const files: OutputFile[] = [];
  for (const name of [written, ...names]) {
    const found = await lstat(join(dir, name)).catch(() => undefined);
    // A link could point anywhere.
    if (!found?.isFile()) throw new ReportFailure(`the formatter wrote no ${name}`, stderr);
    files.push({ name, size: found.size, file: join(dir, name) });
  }
  if (files.reduce((sum, { size }) => sum + size, 0) > maxBytes) throw new ReportFailure(tooLarge(maxBytes), stderr);
  if (written === file) return files;
  await rename(join(dir, written), join(dir, file));
  return files.map((one) => (one.name === written ? { ...one, name: file, file: join(dir, file) } : one));
}

const numberOf = (name: string): number => Number(/_([0-9]+)\./.exec(name)?.[1] ?? 0);

// The folder of one run, removed when the run ends: `work` belongs to the formatter, `home` is its empty HOME. The process's
// root folder is emptied at startup: whatever a crashed process left there belongs to jobs that start over.

interface ReportFolder {
  readonly work: string;
  readonly home: string;
  /** For the archive of all files, outside of the formatter's folder. */
  readonly zip: string;
}

export class ReportFolders {
  readonly #scratch: Scratch;

  constructor(root: string) {
    this.#scratch = new Scratch(root);
  }

  /** Empties the root folder. */
  clear(): Promise<void> {
    return this.#scratch.clear();
  }

  /** The folder's name includes the attempt, so no two runs share one. */
  using<Result>(
    { id, attempt }: Pick<ReportClaim, 'id' | 'attempt'>,
    run: (folder: ReportFolder) => Promise<Result>,
  ): Promise<Result> {
    return this.#scratch.named(`${id}-${attempt}`, async (folder) => {
      const [work, home] = [join(folder, 'work'), join(folder, 'home')];
      for (const dir of [work, home]) await mkdir(dir, { mode: 0o700 });
      return run({ work, home, zip: join(folder, 'report.zip') });
    });
  }
}

// Metrics of the report runs; the lane has its own.

interface ReportMetrics {
  /** The formatter ended, successfully or not. */
  ran(type: FormatType, ms: number): void;
  /** A report was stored; `bytes` is its size without its archive. */
  kept(bytes: number): void;
}

const MIB = 1_048_576;
const SIZE_BUCKETS = [0.01, 0.1, 1, 10, 100, 1_000, 10_000].map((mib) => mib * MIB);

export function reportMetrics(metrics: Metrics): ReportMetrics {
  const seconds = metrics.histogram('report_formatter_seconds', 'Duration of formatter runs.', ['format_type']);
  const sizes = metrics.histogram('report_bytes', 'Sizes of reports, excluding their archives.', [], SIZE_BUCKETS);
  return {
    ran: (type, ms) => seconds.observe({ format_type: type }, ms / 1000),
    kept: (bytes) => sizes.observe({}, bytes),
  };
}
