// A handler job service that listens, with real commands in folders of its own; records and objects are fakes.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';
import { fetch, type Response } from 'undici';
import { commandEnvironment, type HandlerCommand } from '../../../actors/handler/commands.ts';
import { HandlerLane } from '../../../actors/handler/handler-lane.ts';
import { sweepJobFolders } from '../../../actors/handler/job-files.ts';
import { type JobRunOptions, JobRuns } from '../../../actors/handler/job-run.ts';
import { jobMetrics, Statistics } from '../../../actors/handler/statistics.ts';
import { archivesHere } from '../../../actors/tasks/archives.ts';
import { ChildProcessRunner } from '../../../engine/adapters/scripts/child-process.ts';
import { readTarGz } from '../../../engine/archive/tar-reader.ts';
import type { HandlerState } from '../../../engine/model/handler-job.ts';
import { type Logger, silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { handlerChecks } from '../../../http/handler/documents.ts';
import { HandlerService } from '../../../http/handler/handler-service.ts';
import { handlerRoutes } from '../../../http/handler/routes.ts';
import { apiDocs } from '../../../http/kernel/openapi/api-docs.ts';
import { sharedHealth } from '../../../http/kernel/pipeline/ops.ts';
import { FakeHandlerJobs, FakeHandlerStatistics, HandlerTable } from '../../fakes/fake-handler-jobs.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { httpApp } from '../http-app.ts';

const signal = new AbortController().signal;
const HOUR = 3_600_000;

/** A command that runs a line of shell with the input files as `$@`. */
export const sh = (script: string, ...more: readonly string[]): HandlerCommand => ({
  command: '/bin/sh',
  arguments: ['-euc', script, 'sh', ...(more.length > 0 ? more : ['<<input-files>>'])],
  maxDurationMs: 20_000,
});
export const COPY = sh('mkdir output && cp -R -- "$@" output/');

export const metadata = (changes: object = {}): object => ({
  projects: ['AlphaDB'],
  owner: 42,
  name: 'My data',
  ...changes,
});

export interface HandlerAppOptions {
  readonly commands?: readonly HandlerCommand[];
  readonly token?: string;
  readonly queueSize?: number;
  readonly maxKeptBytes?: number;
  readonly workerCount?: number;
  readonly run?: Partial<JobRunOptions>;
  readonly env?: Readonly<Record<string, string>>;
  readonly passEnvironment?: readonly string[];
  readonly log?: Logger;
  /** Called after each move was written; throws what the call should fail with. */
  readonly onMoved?: (to: HandlerState) => void;
}

export async function handlerApp(t: Test, options: HandlerAppOptions = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-handler-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const workDir = join(dir, 'work');
  await sweepJobFolders(workDir);
  const [clock, log, metrics] = [systemClock, options.log ?? silentLogger(), new Metrics()];
  const table = new HandlerTable();
  const jobs = new FakeHandlerJobs(table);
  jobs.onMoved = options.onMoved ?? jobs.onMoved;
  const [kept, store] = [new FakeHandlerStatistics(), new FakeObjectStore()];
  const statistics = new Statistics(kept, log);
  const runner = new ChildProcessRunner({ stateDir: join(dir, 'running'), graceMs: 100, drainMs: 100 }, clock, log);
  const lane = new HandlerLane({
    name: 'handlerLane',
    queueSize: options.queueSize ?? 4,
    workerCount: options.workerCount ?? 2,
    clock,
    log,
    metrics,
  });
  await lane.start(signal);
  const commands = options.commands ?? [COPY];
  const environment = commandEnvironment(options.env ?? { PATH: '/usr/bin:/bin' }, options.passEnvironment ?? []);
  const observed = jobMetrics(metrics);
  const runs = new JobRuns(
    {
      workDir,
      commands,
      environment,
      maxUnpackedBytes: 10_000_000,
      archives: { maxEntries: 100_000 },
      awaitingMs: 24 * HOUR,
      resultRetentionMs: 24 * HOUR,
      historyRetentionMs: 72 * HOUR,
      type: { name: 'test-handler', version: '1.2.3' },
      ...options.run,
    },
    {
      jobs,
      store,
      runner,
      packages: archivesHere,
      metrics: observed,
      statistics,
      clock,
      log,
    },
  );
  const service = new HandlerService(
    { awaitingMs: 24 * HOUR, maxKeptBytes: options.maxKeptBytes ?? Number.MAX_SAFE_INTEGER },
    { jobs, lane: () => lane, runs, metrics: observed, statistics, clock, log },
  );
  const checks = handlerChecks({
    workDir,
    commands: commands.map(({ command }) => command),
    path: environment.PATH ?? '',
    maxUnpackedBytes: 1,
    lane: () => lane,
    database: async () => undefined,
    store: (until) => store.probe(until),
  });
  const routes = handlerRoutes({
    service,
    options: { serviceName: 'test-handler', port: 8081, configPath: '/etc/handler.yml', commands },
    token: options.token,
    projects: new Set(['AlphaDB', 'BetaDB']),
    store,
    health: sharedHealth({ threads: () => 3, checks, clock, version: '1.2.3' }),
    statistics,
  });
  const info = { title: 'Handler', version: '1.2.3', basePath: '' };
  const app = await httpApp(t, [...routes, ...apiDocs(routes, info)]);
  // Before the server's own end, which waits for answers.
  t.teardown(async () => {
    await lane.stop(clock.now());
    lane.kill();
    await runner[Symbol.asyncDispose]();
  });
  const url = (jobId: string, tail = ''): string => `${app.url}/job/${encodeURIComponent(jobId)}${tail}`;
  const put = (jobId: string, body: unknown = metadata(), headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url(jobId), {
      method: 'PUT',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    });
  const post = (jobId: string, body: Buffer, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url(jobId), { method: 'POST', headers: { 'content-type': 'application/binary', ...headers }, body });
  return {
    ...app,
    routes,
    metrics,
    dir,
    workDir,
    lane,
    jobs,
    table,
    kept,
    store,
    statistics,
    runs,
    service,
    jobUrl: url,
    put,
    post,
    status: async (jobId: string) => (await fetch(url(jobId, '/status'))).json() as Promise<Record<string, unknown>>,
    folders: () => readdir(workDir),
    /** Registers and uploads. */
    async job(jobId: string, archive: Buffer, body: object = metadata()): Promise<Response> {
      const registered = await put(jobId, body);
      if (registered.status !== 204) throw new Error(`PUT: ${registered.status} ${await registered.text()}`);
      return post(jobId, archive);
    },
  };
}

/** Texts of a tar.gz by path. */
export async function untar(packed: Uint8Array): Promise<Record<string, string>> {
  const source = new PassThrough();
  source.end(packed);
  const limits = { maxTotalBytes: 2 ** 30, maxFileBytes: 2 ** 30, maxEntries: 10_000 };
  const found: Record<string, string> = {};
  for await (const { path, body } of readTarGz(source, { limits }, signal))
    found[path] = (await buffer(body)).toString();
  return found;
}

export const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());
