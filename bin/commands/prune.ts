// `longshore prune`: permanently removes datasets that were deleted or superseded long enough ago.

import { parseDuration } from '../../engine/runtime/duration.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { parse } from '../cli/arguments.ts';
import type { PruneRun } from '../cli/client/admin-client.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../cli/client/admin-options.ts';
import { runToItsEnd } from '../cli/client/order-run.ts';
import { showProgress } from '../cli/client/show-transfer.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/json-text.ts';
import { oneLine } from '../cli/terminal/plain-text.ts';
import { listing } from '../cli/terminal/table.ts';
import { UsageError } from '../cli/usage-error.ts';

const OPTIONS = { ...ADMIN_OPTIONS, 'age-cutoff': { type: 'string' }, wait: { type: 'boolean' } } as const;

export const prune: Command = {
  name: 'prune',
  usage: `longshore prune [--age-cutoff DURATION|DATE] [--wait]  ${ADMIN_USAGE}`,
  options: OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    if (positionals.length > 0) throw new UsageError(`'${positionals.join(' ')}': prune takes options only`);
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
    io.out(values.json ? jsonDocument(report) : listing(describe(report), io.outTerminal));
    if (report.failure !== undefined) io.err(`the run ended early: ${oneLine(report.failure)}\n`);
    return report.failure === undefined && report.failures === 0 ? EXIT.ok : EXIT.failed;
  },
};

function describe(report: PruneRun): readonly (readonly [string, string | number])[] {
  const skipped = Object.entries(report.skipped).map(([reason, count]) => `${reason} ${count}`);
  return [
    ['older than', report.cutoff],
    ['pruned', report.pruned],
    ['trimmed', report.trimmed],
    ['skipped', skipped.join(', ') || 0],
    ['failed', report.failures],
  ];
}
