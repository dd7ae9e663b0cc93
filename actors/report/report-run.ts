// One run of a claimed report job: check that the data are unchanged, format, store the files. Readers get only the files of a
// complete job, which are those of one attempt. Until the outcome is written, nobody sees an attempt's files, so a run that
// stops anywhere has published nothing.

import { formatterArguments, REPORT_ARCHIVE } from '../../engine/model/report/command-line.ts';
import { QUERY_PROGRAMS, type QueryJob } from '../../engine/model/report/query-job.ts';
import { attemptPrefix, type ReportFile, reportFileKey } from '../../engine/model/report/report-job.ts';
import type { BlastDatabases, QueryJobs } from '../../engine/ports/blast.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { ReportClaim, ReportOutcome } from '../../engine/ports/report-jobs.ts';
import { kindOf, messageOf, transient } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import type { Formatter, FormatterOptions } from './formatter.ts';
import { removeObjects } from './remove-attempts.ts';
import { ReportFailure, withoutPaths } from './report-failure.ts';
import type { ReportFolder, ReportFolders } from './report-folder.ts';
import type { ReportMetrics } from './report-metrics.ts';
import { collectOutput, type OutputFile } from './report-output.ts';

/** Name of the query's result in the formatter's folder; no report file has this name. */
const QUERY_ARCHIVE = 'query-result';
const ZIP_LEVEL = 1;
/** Deadline for removing what an unsuccessful run has put into the store. */
const TAKE_BACK_MS = 5_000;

/** Writes a zip; equal files produce equal zips. It blocks while it writes, so it belongs in a worker thread. */
export type WriteZip = (
  target: string,
  files: readonly { readonly path: string; readonly file: string; readonly size: number }[],
  options: { readonly level: number },
  signal: AbortSignal,
) => Promise<{ readonly bytes: number }>;

export interface ReportRunParts {
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
  ): Promise<{ readonly files: readonly ReportFile[]; readonly stderr: string }> {
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
  ): Promise<readonly ReportFile[]> {
    const { zip, store, metrics } = this.#parts;
    const packed = output.map(({ name, file, size }) => ({ path: name, file, size }));
    const { bytes } = await zip(folder.zip, packed, { level: ZIP_LEVEL }, signal);
    const all = [...output, { name: REPORT_ARCHIVE.name, file: folder.zip, size: bytes }];
    try {
      for (const { name, file } of all)
        await store.put(reportFileKey(claim.id, claim.attempt, name), { file }, {}, signal);
    } catch (error) {
      await this.#takeBack(claim);
      throw error;
    }
    metrics.kept(output.reduce((sum, { size }) => sum + size, 0));
    return all.map(({ name, size }) => ({ name, size }));
  }

  /** Whatever remains is removed with the attempt's debris. */
  async #takeBack({ id, attempt }: ReportClaim): Promise<void> {
    const { store, clock, log } = this.#parts;
    using late = deadline(clock, TAKE_BACK_MS, undefined, () =>
      transient('the object store did not respond within the deadline'),
    );
    await removeObjects(store, attemptPrefix(id, attempt), () => true, late.signal).catch((error: unknown) =>
      log.debug({ err: messageOf(error), report: id }, 'files of an unfinished report could not be removed yet'),
    );
  }
}
