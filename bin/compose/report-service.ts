// The configured report job service: its front end, its lane, and its cleanup.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PausesInForce } from '../../actors/pauses/pauses-in-force.ts';
import { FORMATTER, Formatter } from '../../actors/report/formatter.ts';
import { REPORT_LANE, type ReportLane, renewReports, reportLane } from '../../actors/report/report-lane.ts';
import { ReportFolders, ReportRun, reportMetrics, type WriteZip } from '../../actors/report/report-run.ts';
import { sweepReports } from '../../actors/report/report-sweep.ts';
import type { Configuration } from '../../config/configuration.ts';
import { BlastDatabaseFiles } from '../../engine/adapters/blast/blast-database.ts';
import { QueryJobsDirectory } from '../../engine/adapters/blast/query-jobs-directory.ts';
import { PostgresIdempotencyKeys } from '../../engine/adapters/idempotency/idempotency-keys-postgres.ts';
import { PostgresServiceProblems, REPORT_PROBLEMS } from '../../engine/adapters/jobs/service-problems-postgres.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import { PostgresReportCollections } from '../../engine/adapters/report/collections.ts';
import { PostgresReportJobs } from '../../engine/adapters/report/jobs.ts';
import { PostgresReportExpiry, PostgresReportQueue } from '../../engine/adapters/report/queue.ts';
import { ChildProcessRunner } from '../../engine/adapters/scripts/child-process.ts';
import { endLeftoverScripts } from '../../engine/adapters/scripts/child-process-records.ts';
import type { IdempotencyKeys } from '../../engine/ports/idempotency-keys.ts';
import type { ServiceProblems } from '../../engine/ports/problems.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { defect } from '../../engine/runtime/failure.ts';
import { scriptSpawner } from '../../engine/runtime/program-files.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import { Timer } from '../../engine/runtime/timer.ts';
import type { AuthSettings } from '../../http/kernel/auth/authenticate.ts';
import { findProgram, type HealthCheck } from '../../http/kernel/pipeline/ops.ts';
import { reportRoutes } from '../../http/report/routes.ts';
import { searchPathOf } from '../cli/query-run.ts';
import { VERSION } from '../cli/version.ts';
import { migrateReport, reportConnection } from './databases.ts';
import { type FrontEndParts, frontEnd, threadsHere } from './front-end.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Core } from './open-core.ts';
import { roomCheck } from './watch-dependencies.ts';
import { consoleOrigins } from './web-console.ts';

interface ReportParts extends FrontEndParts {
  readonly core: Pick<Core, 'store'>;
  readonly zip: WriteZip;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Scratch space of this process only; created if missing. */
  readonly scratchDir: string;
  /** Its setting is defined where the service is configured. */
  readonly live: Pick<LiveSettings, 'reportLane'>;
  readonly pauses: Pick<PausesInForce, 'find' | 'watch' | 'pausesOf'>;
}

interface ReportService {
  /** In start order. */
  readonly children: readonly ChildSpec[];
  /** Its dependencies, besides the cache database and the object store. */
  readonly watched: readonly HealthCheck[];
  readonly problems: ServiceProblems;
  readonly keys: IdempotencyKeys;
  url(): string;
}

/** Three renewals fit into a lease. */
const RENEW_MS = 10_000;
const SWEEP_MS = 60_000;

/**
 * Undefined when it is not configured. The caller has already waited for its database (wait-for-dependencies.ts). First cleans
 * up after a killed process: its formatters, their folders, the queries that it began.
 */
export async function reportService(
  configuration: Configuration,
  auth: AuthSettings,
  parts: ReportParts,
  scope: Scope,
  signal: AbortSignal,
): Promise<ReportService | undefined> {
  const { report: settings, containerCore } = configuration;
  const bounds = parts.live.reportLane;
  if (!settings || !bounds) return undefined;
  const { clock, metrics, core, zip, env } = parts;
  const { store } = core;
  const log = parts.log.child({ actor: 'report' });
  const root = join(parts.scratchDir, 'report');
  const stateDir = join(root, 'running');
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const ended = await endLeftoverScripts(stateDir, log, clock);
  if (ended > 0) log.warn({ formatters: ended }, 'killed formatters left running by a crashed process');
  const folders = new ReportFolders(join(root, 'work'));
  await folders.clear();
  const queries = new QueryJobsDirectory(settings.queryJobs);
  await queries
    .sweep(clock)
    .catch((err: unknown) => log.warn({ err }, 'the directory of query jobs could not be cleaned up'));

  const connection = reportConnection(configuration);
  const db = scope.use('report database', new Postgres(connection, log));
  const applied = await migrateReport(db, connection, signal);
  if (applied.length > 0) log.info({ applied }, 'report database migrated');
  let renewal: Timer<void> | undefined;
  // Others may have considered this process dead and taken over its jobs; renewing now stops those jobs at once.
  const onGap = (): void => void renewal?.runNow(new AbortController().signal).catch(() => undefined);
  const instance = await scope.open(
    'process instance of reports',
    PostgresInstance.open(db, { onGap }, clock, log, signal),
  );
  const queue = new PostgresReportQueue(db, instance);
  const expiry = new PostgresReportExpiry(db);
  const keys = new PostgresIdempotencyKeys(db);

  const path = env.PATH ?? '';
  const limits = {
    ...{ blastBin: settings.blastBin, path, searchPath: searchPathOf(settings) },
    ...{ maxDurationMs: settings.maxDurationMs, maxOutputBytes: settings.maxOutputSize },
  };
  const runner = scope.use(
    'formatter runner',
    new ChildProcessRunner({ stateDir, spawner: scriptSpawner(join(stateDir, 'compiled')) }, clock, log),
  );
  const databases = new BlastDatabaseFiles(limits);
  const formatter = new Formatter(limits, runner, clock);
  const made = { metrics: reportMetrics(metrics), clock, log };
  const run = new ReportRun(limits, { queries, databases, formatter, folders, zip, store, ...made });
  let lane: ReportLane | undefined;
  bounds.watch((next) => lane?.resize(next));
  const currentLane = (): ReportLane => {
    if (!lane) throw defect('the lane of the report job service has not been started');
    return lane;
  };

  const program = settings.blastBin === undefined ? FORMATTER : join(settings.blastBin, FORMATTER);
  const watched: readonly HealthCheck[] = [
    { name: 'report-db', vital: true, probe: (until) => db.probe(until) },
    { name: 'query-jobs', vital: false, probe: (until) => queries.probe(until) },
    { name: FORMATTER, vital: false, probe: () => findProgram(program, path) },
  ];
  const front = await frontEnd(
    containerCore,
    {
      name: 'report',
      host: containerCore.http.bindHost,
      port: containerCore.ports.report,
      origins: consoleOrigins(containerCore),
      auth,
      // Its own routes include /health.
      checks: [],
      databases: [db],
      keys,
      routes: reportRoutes({
        jobs: new PostgresReportJobs(db),
        collections: new PostgresReportCollections(db),
        expiry,
        queries,
        store,
        verify: auth.verify,
        limits: {
          maxQueued: settings.maxQueued,
          maxQueuedPerUser: settings.maxQueuedPerUser,
          retryAfterMs: settings.retryAfterMs,
        },
        dependencies: [
          ...watched,
          { name: 'object-store', probe: (until) => store.probe(until) },
          ...(parts.room ? [roomCheck(parts.room)] : []),
        ],
        paused: () => parts.pauses.pausesOf('lane', [REPORT_LANE]),
        clock,
        threads: threadsHere,
        version: VERSION,
      }),
    },
    parts,
  );
  const common = { clock, log, metrics };
  return {
    problems: new PostgresServiceProblems(db, REPORT_PROBLEMS),
    keys,
    children: [
      {
        name: 'reportLane',
        create: () => {
          lane = reportLane({
            ...{ queue, run, ...bounds.current, ...common },
            ...{ pauses: parts.pauses, random: Math.random },
          });
          return lane;
        },
      },
      {
        name: 'reportLeases',
        create: () => {
          const runOnce = (until: AbortSignal): Promise<void> => renewReports(currentLane(), queue, log, until);
          renewal = new Timer({ name: 'reportLeases', periodMs: RENEW_MS, jitter: 0, runOnce, ...common });
          return renewal;
        },
      },
      {
        name: 'reportSweep',
        create: () => {
          const runOnce = async (until: AbortSignal): Promise<void> => {
            await sweepReports({ expiry, store, retentionMs: settings.retentionMs, clock, log }, until);
          };
          return new Timer({ name: 'reportSweep', periodMs: SWEEP_MS, runOnce, ...common });
        },
      },
      front.spec,
    ],
    watched,
    url: () => front.url(),
  };
}
