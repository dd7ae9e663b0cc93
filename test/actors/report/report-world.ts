// Processes that make reports, on shared records, objects and time: the real run and lane with a formatter that is a
// function.

import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Formatter } from '../../../actors/report/formatter.ts';
import { reportLane, runReport } from '../../../actors/report/report-lane.ts';
import { ReportFolders, ReportRun, reportMetrics } from '../../../actors/report/report-run.ts';
import { sweepReports } from '../../../actors/report/report-sweep.ts';
import { archivesHere } from '../../../actors/tasks/archives.ts';
import type { ResolvedConfig } from '../../../engine/model/report/blast-config.ts';
import type { QueryJob } from '../../../engine/model/report/query-job.ts';
import { reportFileKey } from '../../../engine/model/report/report-job.ts';
import type { BlastDatabases, ReportClaim, ReportOutcome, ReportQueue } from '../../../engine/ports/report-jobs.ts';
import type { ScriptRunner } from '../../../engine/ports/script-runner.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { at, idOf, QUERY, requestOf, rulesAt, signal } from '../../conformance/report-world.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { FakeQueryJobs } from '../../fakes/fake-query-jobs.ts';
import { FakeReportExpiry, FakeReportJobs, FakeReportQueue, ReportTable } from '../../fakes/fake-report-jobs.ts';
import { type FakeScript, type FakeScriptCall, FakeScriptRunner } from '../../fakes/fake-script-runner.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { FaultGate } from '../../support/fault-gate.ts';

export const MAX_BYTES = 1_000;
export const MAX_MS = 3_600_000;
export const RETENTION_MS = 30 * 86_400_000;
export const CONTENT = 'q1\ts1\t99.5\n';
export const ARCHIVE = 'the result of the query';

/** Writes a file into the folder of the run. */
export const write = ({ spec }: FakeScriptCall, name: string, text = CONTENT): Promise<void> =>
  writeFile(join(spec.cwd, name), text);

export const QUERY_JOB: QueryJob = {
  id: QUERY,
  program: 'blastn',
  databases: ['flies', 'worms'],
  fingerprint: requestOf(1).fingerprint,
  status: 'complete',
};
export const TABULAR: ResolvedConfig = requestOf(1).configuration;

export async function reportWorld(
  t: Test,
  script: FakeScript = async (call) => write(call, 'report.tsv').then(() => 0),
) {
  const root = await mkdtemp(join(tmpdir(), 'longshore-report-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const clock = new VirtualClock(at(0).getTime());
  const [log, table, store] = [silentLogger(), new ReportTable(), new FakeObjectStore(() => clock.now())];
  const [jobs, expiry] = [new FakeReportJobs(table), new FakeReportExpiry(table)];
  const queries = new FakeQueryJobs();
  queries.put(QUERY_JOB, ARCHIVE);
  const world = {
    /** Of the databases now. */
    fingerprint: async (): Promise<string> => QUERY_JOB.fingerprint,
    script,
  };
  const databases: BlastDatabases = { fingerprint: () => world.fingerprint() };
  const installed = new FakeScriptRunner({ blast_formatter: (call) => world.script(call) }, clock);
  let current: ScriptRunner = installed;
  const runner: ScriptRunner = { run: (spec, until) => current.run(spec, until) };

  const process = (number: number, gate = new FaultGate()) => {
    const folders = new ReportFolders(join(root, `process-${number}`));
    const formatter = new Formatter(
      { path: '/usr/bin', searchPath: ['/blastdb', '/more'], maxDurationMs: MAX_MS, maxOutputBytes: MAX_BYTES },
      gate.wrap('runner', runner),
      clock,
    );
    const run = new ReportRun(
      { maxOutputBytes: MAX_BYTES, searchPath: ['/blastdb', '/more'] },
      {
        queries: gate.wrap('queries', queries),
        databases: gate.wrap('databases', databases),
        formatter,
        folders,
        zip: gate.wrap('archives', archivesHere).zip,
        store: gate.wrap('store', store),
        metrics: reportMetrics(new Metrics()),
        clock,
        log,
      },
    );
    const plain = new FakeReportQueue(table, number);
    const gated = gate.wrap('queue', plain);
    const queue: ReportQueue = {
      // A poll that finds nothing is no step of anything.
      completeAndFetch: (done, ...rest) =>
        (done.length > 0 || table.anyWaits ? gated : plain).completeAndFetch(done, ...rest),
      renew: (...args) => gated.renew(...args),
      watch: (wake) => plain.watch(wake),
    };
    const options = { queue, run, clock, log, random: () => 0 };
    return {
      options,
      queue,
      lane: reportLane({ ...options, queueSize: 2, workerCount: 2, metrics: new Metrics() }),
      run: (claim: ReportClaim, until = signal) => runReport(claim, options, until),
      number,
      die: () => table.dead.add(number),
    };
  };

  const first = process(1);
  const submit = async (n = 1, configuration = TABULAR) => {
    const seconds = (clock.now() - at(0).getTime()) / 1000;
    await jobs.submit({ ...requestOf(n), configuration }, undefined, rulesAt(seconds), signal);
  };
  const claim = async (from = first): Promise<ReportClaim> => {
    const [one] = await from.queue.completeAndFetch([], { limit: 1 }, new Date(clock.now()), signal);
    if (!one) throw new Error('nothing to claim');
    return one;
  };
  const settle = (one: ReportClaim, outcome: ReportOutcome, by = first) =>
    by.queue.completeAndFetch([{ claim: one, outcome }], { limit: 0 }, new Date(clock.now()), signal);
  return {
    runner: installed,
    /** Another formatter, or none. */
    program: (program: 'not-executable' | undefined) => {
      current = new FakeScriptRunner(program ? { blast_formatter: program } : {}, clock);
    },
    ...{ world, queries, root, clock, table, store, jobs, process, first, submit, claim, settle },
    /** Submits the first job, runs it and writes how it ended. */
    make: async (configuration = TABULAR): Promise<ReportOutcome> => {
      await submit(1, configuration);
      const one = await claim();
      const outcome = await first.run(one);
      await settle(one, outcome);
      return outcome;
    },
    job: async (n = 1) => (await jobs.read(idOf(n), undefined, at(0), signal))?.job,
    sweep: () => sweepReports({ expiry, store, retentionMs: RETENTION_MS, clock, log }, signal),
    text: (attempt: number, name: string) => store.text(reportFileKey(idOf(1), attempt, name)),
  };
}

/** Time passes, but not faster than files are read: work on files takes real time, of which the clock knows nothing. */
export async function pass(clock: VirtualClock, ms: number): Promise<void> {
  await stat(tmpdir());
  await clock.advance(ms);
}

/** What a formatter does that does not end: time passes in steps until somebody ends it. */
export async function hang(clock: VirtualClock, { signal: ended }: FakeScriptCall, stepMs = 100): Promise<never> {
  while (!ended.aborted) await pass(clock, stepMs);
  return new Promise(() => {});
}

export const away = () => transient('the object store is not reached', { unreachable: true });
