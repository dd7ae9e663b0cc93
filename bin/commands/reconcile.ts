// `longshore reconcile`: compares all datasets with the object store now.

import { parseDuration } from '../../engine/runtime/duration.ts';
import { Failure } from '../../engine/runtime/failure.ts';
import { type Clock, systemClock } from '../../engine/runtime/time.ts';
import { implement } from '../cli/arguments.ts';
import type { PruneRun, ReconcileRun, ReportedRun, ReportedRuns } from '../cli/client/admin-reports.ts';
import { openAdminClient } from '../cli/client/client-options.ts';
import { showProgress } from '../cli/client/transfer.ts';
import { type Command, EXIT, UsageError } from '../cli/command.ts';
import { listing } from '../cli/terminal/table.ts';
import { jsonDocument, jsonLine, oneLine } from '../cli/terminal/text.ts';
import { PRUNE, RECONCILE } from '../cli/tree/administration.ts';

export const reconcile: Command = implement(RECONCILE, async ({ values }, io) => {
  const client = await openAdminClient(values, io);
  const start = (signal: AbortSignal) => client.reconcile(values['allow-deletes'], signal);
  if (!values.wait) {
    const started = await start(io.signal);
    io.out(values.json ? jsonLine(started) : 'reconciliation started\n');
    return EXIT.ok;
  }
  const order = { start, runs: (signal: AbortSignal) => client.reconcileRuns(signal) };
  using progress = showProgress({ label: 'reconciling', unit: 'datasets' }, values, io, systemClock);
  // The total is known only at the end; until then we assume that it is the same as in the last run.
  const tell = ({ listed }: ReconcileRun, before: ReconcileRun | undefined): void =>
    progress.at(listed, before && Math.max(before.listed, listed));
  const report = await runToItsEnd(order, tell, systemClock, io.signal);
  progress.at(report.listed, report.listed);
  progress.finish();
  io.out(values.json ? jsonDocument(report) : listing(describe(report), io.outTerminal));
  if (report.failure !== undefined) io.err(`the run ended early: ${oneLine(report.failure)}\n`);
  if (report.braked !== undefined)
    io.err(`deletes were withheld (use --allow-deletes to perform them): ${oneLine(report.braked)}\n`);
  return report.failure === undefined && report.braked === undefined ? EXIT.ok : EXIT.failed;
});

function describe(report: ReconcileRun): readonly (readonly [string, string | number])[] {
  const absent = Object.entries(report.absent).map(([database, count]) => `${database} ${count}`);
  return [
    ['in the store', report.listed],
    ['malformed', report.malformed],
    ['reconciled', report.reconciled],
    ['absent', absent.join(', ') || 0],
    ['deleted', report.deleted],
    ['spared', report.spared],
    ...report.leftOut.map(({ installTarget, reason }) => ['left out', `${installTarget}: ${reason}`] as const),
  ];
}

// `longshore prune`: permanently removes datasets that were deleted or superseded long enough ago.

export const prune: Command = implement(PRUNE, async ({ values }, io) => {
  const ageCutoff = values['age-cutoff'];
  // The server checks whether the date exists.
  if (ageCutoff !== undefined && parseDuration(ageCutoff) === undefined && !/^\d{4}-\d\d-\d\d/.test(ageCutoff))
    throw new UsageError(`--age-cutoff '${ageCutoff}': must be a duration such as 30d, or a date such as 2026-01-31`);
  const client = await openAdminClient(values, io);
  const start = (signal: AbortSignal) => client.prune(ageCutoff, signal);
  if (!values.wait) {
    const started = await start(io.signal);
    io.out(values.json ? jsonLine(started) : 'pruning started\n');
    return EXIT.ok;
  }
  const order = { start, runs: (signal: AbortSignal) => client.pruneRuns(signal) };
  using progress = showProgress({ label: 'pruning', unit: 'datasets' }, values, io, systemClock);
  const tell = (run: PruneRun): void => progress.at(run.pruned + run.trimmed + run.failures);
  const report = await runToItsEnd(order, tell, systemClock, io.signal);
  progress.finish();
  io.out(values.json ? jsonDocument(report) : listing(describePrune(report), io.outTerminal));
  if (report.failure !== undefined) io.err(`the run ended early: ${oneLine(report.failure)}\n`);
  return report.failure === undefined && report.failures === 0 ? EXIT.ok : EXIT.failed;
});

function describePrune(report: PruneRun): readonly (readonly [string, string | number])[] {
  const skipped = Object.entries(report.skipped).map(([reason, count]) => `${reason} ${count}`);
  return [
    ['older than', report.cutoff],
    ['pruned', report.pruned],
    ['trimmed', report.trimmed],
    ['skipped', skipped.join(', ') || 0],
    ['failed', report.failures],
  ];
}

// Orders a run of a daemon and optionally follows it to its end.

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** The calls to start a run and to list runs. */
interface RunOrder<Run extends ReportedRun> {
  readonly start: (signal: AbortSignal) => Promise<unknown>;
  readonly runs: (signal: AbortSignal) => Promise<ReportedRuns<Run>>;
}

/**
 * Starts a run and polls (every 50 ms to 2 s) until it has ended. Rejects if the server no longer knows the run because it was
 * restarted.
 * @param tell called at each poll with the current run and with the last run before the order
 */
async function runToItsEnd<Run extends ReportedRun>(
  { start, runs }: RunOrder<Run>,
  tell: (current: Run, before: Run | undefined) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<Run> {
  const { last: before } = await runs(signal);
  await start(signal);
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.3, LONGEST_PAUSE_MS)) {
    const { current, last } = await runs(signal);
    if (last && last.started !== before?.started) return last;
    if (!current) throw new Failure('transient', 'the server no longer knows the run; was the server restarted?');
    tell(current, before);
    await clock.sleep(pause, signal);
  }
}
