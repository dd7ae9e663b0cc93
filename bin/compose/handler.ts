// The configured handler job service: its commands, its jobs, one port.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { commandEnvironment } from '../../actors/handler/commands.ts';
import { expireJobs } from '../../actors/handler/expiry.ts';
import { HandlerLane } from '../../actors/handler/handler-lane.ts';
import { sweepJobFolders } from '../../actors/handler/job-files.ts';
import { JobRuns } from '../../actors/handler/job-run.ts';
import { jobMetrics, Statistics } from '../../actors/handler/statistics.ts';
import type { Archives } from '../../actors/tasks/archives.ts';
import type { Configuration } from '../../config/configuration.ts';
import { PostgresHandlerJobs, PostgresHandlerStatistics } from '../../engine/adapters/jobs/handler-jobs-postgres.ts';
import { ChildProcessRunner } from '../../engine/adapters/scripts/child-process.ts';
import { endLeftoverScripts } from '../../engine/adapters/scripts/child-process-records.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { defect, messageOf } from '../../engine/runtime/failure.ts';
import { scriptSpawner } from '../../engine/runtime/program-files.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import { Timer } from '../../engine/runtime/timer.ts';
import { handlerChecks } from '../../http/handler/documents.ts';
import { HandlerService } from '../../http/handler/handler-service.ts';
import { handlerRoutes } from '../../http/handler/routes.ts';
import { sharedHealth } from '../../http/kernel/pipeline/ops.ts';
import { VERSION } from '../cli/version.ts';
import { type FrontEnd, type FrontEndParts, frontEnd, noUsers, threadsHere } from './front-end.ts';
import type { Core } from './open-core.ts';
import { roomCheck } from './watch-dependencies.ts';

interface HandlerParts extends FrontEndParts {
  readonly core: Pick<Core, 'db' | 'instance' | 'store'>;
  readonly packages: Archives;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Scratch space of this process only; created if missing. */
  readonly scratchDir: string;
}

export interface Handler {
  /** In start order. */
  readonly children: readonly ChildSpec[];
  url(): string;
}

/** How long a job may wait for its upload (docs/design/decisions.md#handler-job-service). */
const AWAITING_MS = 24 * 3_600_000;
const EXPIRY_PERIOD_MS = 60_000;

/** First cleans up after a killed process: its commands, its jobs, its folders. */
export async function handler(
  configuration: Pick<Configuration, 'containerCore'> & {
    readonly handler: NonNullable<Configuration['handler']>;
    readonly installer: Pick<Configuration['installer'], 'installTargets'>;
  },
  parts: HandlerParts,
  scope: Scope,
  signal: AbortSignal,
): Promise<Handler> {
  const { handler: settings, containerCore, installer } = configuration;
  const { clock, metrics, core, packages } = parts;
  const { store } = core;
  const log = parts.log.child({ actor: 'handler' });
  const root = settings.workspace ?? join(parts.scratchDir, 'handler');
  const [stateDir, workDir] = [join(root, 'running'), join(root, 'work')];
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const ended = await endLeftoverScripts(stateDir, log, clock);
  if (ended > 0) log.warn({ commands: ended }, 'killed commands left running by a crashed process');
  await sweepJobFolders(workDir);

  const jobs = new PostgresHandlerJobs(core.db, core.instance);
  const statistics = new Statistics(new PostgresHandlerStatistics(core.db), log);
  scope.defer('handler statistics', () => statistics.flush(new AbortController().signal));
  const { resultRetentionMs, historyRetentionMs, maxUnpackedSize: maxUnpackedBytes } = settings;
  const expire = (until: AbortSignal) => expireJobs({ jobs, store, statistics, historyRetentionMs, clock, log }, until);
  await expire(signal);

  let lane: HandlerLane | undefined;
  const currentLane = (): HandlerLane => {
    if (!lane) throw defect('the lane of the handler service has not been started');
    return lane;
  };
  const { inMemoryQueueSize: queueSize, workerCount } = settings.lane;
  const runner = scope.use(
    'command runner',
    new ChildProcessRunner({ stateDir, spawner: scriptSpawner(join(stateDir, 'compiled')) }, clock, log),
  );
  const environment = commandEnvironment(parts.env, settings.passEnvironment);
  const observed = jobMetrics(metrics);
  const runs = new JobRuns(
    {
      workDir,
      commands: settings.commands,
      environment,
      maxUnpackedBytes,
      archives: {
        maxEntries: settings.archives.maxEntries,
        maxNameBytes: settings.archives.maxNamesSize,
        maxMs: settings.archives.maxDurationMs,
      },
      awaitingMs: AWAITING_MS,
      resultRetentionMs,
      historyRetentionMs,
      type: { name: settings.serviceName, version: VERSION },
    },
    { jobs, store, runner, packages, metrics: observed, statistics, clock, log },
  );
  const service = new HandlerService(
    { awaitingMs: AWAITING_MS, maxKeptBytes: settings.maxResultsPerOwner },
    { jobs, lane: currentLane, runs, metrics: observed, statistics, clock, log },
  );
  const checks = handlerChecks({
    workDir,
    commands: settings.commands.map(({ command }) => command),
    path: environment.PATH ?? '',
    maxUnpackedBytes,
    lane: currentLane,
    database: (until) => core.db.probe(until),
    store: (until) => store.probe(until),
  });
  for (const { name, probe } of checks.filter(({ name }) => name.startsWith('command ')))
    await probe(signal).catch((error: unknown) =>
      log.warn({ check: name, err: messageOf(error) }, 'a command of the handler service cannot be run'),
    );
  const port = containerCore.ports.handler;
  const api: FrontEnd = await frontEnd(
    containerCore,
    {
      name: 'handler',
      host: settings.bindHost,
      port,
      routes: handlerRoutes({
        service,
        options: { ...settings, port },
        token: settings.token,
        projects: new Set(installer.installTargets.map(({ targetId }) => targetId)),
        store,
        health: sharedHealth({
          checks: [...checks, ...(parts.room ? [roomCheck(parts.room)] : [])],
          clock,
          version: VERSION,
          threads: threadsHere,
        }),
        statistics,
      }),
      checks,
      databases: [core.db],
      // The service has its own token.
      auth: noUsers(parts),
    },
    parts,
  );
  return {
    children: [
      {
        name: 'handlerLane',
        create: () => {
          lane = new HandlerLane({ name: 'handlerLane', queueSize, workerCount, clock, log, metrics });
          return lane;
        },
      },
      {
        name: 'handlerExpiry',
        create: () =>
          new Timer({ name: 'handlerExpiry', periodMs: EXPIRY_PERIOD_MS, runOnce: expire, clock, log, metrics }),
      },
      api.spec,
    ],
    url: () => api.url(),
  };
}
