// Runs one BLAST+ search and stores it as a query job in the directory of jobs.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ReportConfiguration } from '../../config/schema/root.ts';
import { BlastDatabaseFiles } from '../../engine/adapters/blast/blast-database.ts';
import { QueryJobsDirectory } from '../../engine/adapters/blast/query-jobs-directory.ts';
import { ChildProcessRunner } from '../../engine/adapters/scripts/child-process.ts';
import { toolEnvironment } from '../../engine/model/report/command-line.ts';
import { QUERY_PROGRAMS, type QueryJobId, type QueryProgram, queryJobId } from '../../engine/model/report/query-job.ts';
import type { ScriptResult } from '../../engine/ports/script-runner.ts';
import { defect, type Failure, messageOf, rejected, transient } from '../../engine/runtime/failure.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';

interface QueryRun {
  readonly program: QueryProgram;
  /** Names, or paths as typed by the user. */
  readonly databases: readonly string[];
  /** A FASTA file of sequences. */
  readonly query: string;
  readonly maxTargetSequences: number | undefined;
  /** The PATH on which programs are searched. */
  readonly path: string;
  /** Called with each line of the program's stderr. */
  readonly onStderr: (line: string) => void;
}

type Section = Pick<ReportConfiguration, 'queryJobs' | 'blastBin' | 'blastDb'>;

/** Returns the job's id. The same search has the same id, and does not run again. */
export async function runQuery(section: Section, run: QueryRun, signal: AbortSignal): Promise<QueryJobId> {
  const searchPath = searchPathOf(section);
  const { program, maxTargetSequences } = run;
  const databases = run.databases.map((name) => databaseName(name, searchPath));
  const files = new BlastDatabaseFiles({ searchPath });
  const fingerprintNow = () => files.fingerprint(databases, QUERY_PROGRAMS[program], signal);
  const { root } = section.queryJobs;
  await mkdir(root, { recursive: true });
  const jobs = new QueryJobsDirectory({ root });
  await jobs.sweep(systemClock);

  const fingerprint = await fingerprintNow();
  const query = await digestOf(run.query, signal);
  const id = queryJobId({ program, databases, fingerprint, query, maxTargetSequences });
  const found = await jobs.find(id, signal);
  if (found?.status === 'complete') return id;
  if (found) throw rejected(`query job ${id} already exists, and is ${found.status}`);

  await using folder = await jobs.begin(systemClock);
  await search(section, { ...run, databases, id }, { cwd: folder.path, archive: folder.archive, searchPath }, signal);
  if ((await fingerprintNow()) !== fingerprint)
    throw rejected(`${databases.join(', ')}: the database changed during the search`);
  await folder.keep({ id, program, databases, fingerprint, status: 'complete' });
  return id;
}

/** Directories in which databases are searched. */
export const searchPathOf = ({ blastDb }: Pick<Section, 'blastDb'>): readonly string[] => blastDb?.split(':') ?? [];

/**
 * The database as passed to the program, which writes it into its result. If the database is in one of the search directories,
 * its name there, so that reports neither show its location nor depend on it. Otherwise an absolute path.
 */
function databaseName(given: string, searchPath: readonly string[]): string {
  if (given.startsWith('-'))
    throw rejected(`--db '${given}': a name that starts with '-' would be parsed as an option`);
  if (/[\s"']/.test(given)) throw rejected(`--db '${given}': names with white space or quotes are not supported`);
  if (!given.includes('/')) return given;
  const path = resolve(given);
  const inside = searchPath
    .map((dir) => relative(dir, path))
    .find((name) => !name.startsWith('..') && !isAbsolute(name));
  return inside || path;
}

async function digestOf(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file), hash, { signal });
  } catch (cause) {
    signal.throwIfAborted();
    throw rejected(`--query ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  return hash.digest('hex');
}

async function search(
  { blastBin }: Section,
  { program, databases, query, maxTargetSequences, path, onStderr, id }: QueryRun & { readonly id: QueryJobId },
  {
    cwd,
    archive,
    searchPath,
  }: { readonly cwd: string; readonly archive: string; readonly searchPath: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const stateDir = await mkdtemp(join(tmpdir(), 'longshore-query-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(stateDir, { recursive: true, force: true }));
  const runner = cleanup.use(new ChildProcessRunner({ stateDir }, systemClock, silentLogger()));
  const most = maxTargetSequences === undefined ? [] : ['-max_target_seqs', String(maxTargetSequences)];
  const spec = {
    program: blastBin === undefined ? program : join(blastBin, program),
    args: ['-db', databases.join(' '), '-query', resolve(query), '-outfmt', '11', '-out', archive, ...most],
    cwd,
    env: toolEnvironment({ path, home: cwd, searchPath }),
    // No time limit: the user waits for the search and can stop it.
    maxDurationMs: Number.MAX_SAFE_INTEGER,
    runId: `query-${id}-${process.pid}`,
    onStderr,
  };
  const result = await runner.run(spec, signal);
  const failure = failureOf(program, result);
  if (failure) throw failure;
  const { size } = await stat(archive).catch(() => ({ size: 0 }));
  if (size === 0) throw rejected(`${program} found no sequences in ${query}`);
}

function failureOf(program: string, { end, stderrTail }: ScriptResult): Failure | undefined {
  const said = stderrTail.trimEnd().split('\n').at(-1);
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? undefined : rejected(`${program} ended with code ${end.code}: ${said}`);
    case 'killed':
      return transient(`${program} was killed by ${end.signal}`);
    case 'timed-out':
      return defect(`${program} ran for ${end.afterMs} ms`);
    case 'not-found':
      return transient(`${end.program} does not exist; NCBI BLAST+ is required`, { unreachable: true });
    case 'not-executable':
      return transient(`${end.program} cannot be executed`, { unreachable: true });
    default:
      return end satisfies never;
  }
}
