// `longshore prune`: removes for good now what was deleted or superseded long enough ago.

import { parseDuration } from '../../engine/duration.ts';
import { systemClock } from '../../engine/time.ts';
import { parse } from '../arguments.ts';
import type { PruneRun } from '../client/admin-client.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../client/admin-options.ts';
import { oneLine } from '../client/one-line.ts';
import { runToItsEnd } from '../client/order-run.ts';
import { type Command, EXIT } from '../command.ts';
import { UsageError } from '../usage-error.ts';

const OPTIONS = { ...ADMIN_OPTIONS, 'age-cutoff': { type: 'string' }, wait: { type: 'boolean' } } as const;

export const prune: Command = {
  name: 'prune',
  usage: `longshore prune [--age-cutoff DURATION] [--wait]  ${ADMIN_USAGE}`,
  options: OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    if (positionals.length > 0) throw new UsageError(`'${positionals.join(' ')}': prune takes options only`);
    const ageCutoff = values['age-cutoff'];
    if (ageCutoff !== undefined && parseDuration(ageCutoff) === undefined)
      throw new UsageError(`--age-cutoff '${ageCutoff}': a duration such as 30d or 1d 12h is needed`);
    const client = await openAdminClient(values, io);
    const start = (signal: AbortSignal) => client.prune(ageCutoff, signal);
    if (!values.wait) {
      const started = await start(io.signal);
      io.out(values.json ? `${JSON.stringify(started)}\n` : 'pruning started\n');
      return EXIT.ok;
    }
    const order = { start, runs: (signal: AbortSignal) => client.pruneRuns(signal) };
    const report = await runToItsEnd(order, systemClock, io.signal);
    io.out(values.json ? `${JSON.stringify(report, null, 2)}\n` : describe(report));
    if (report.failure !== undefined) io.err(`the run ended early: ${oneLine(report.failure)}\n`);
    return report.failure === undefined && report.failures === 0 ? EXIT.ok : EXIT.failed;
  },
};

function describe(report: PruneRun): string {
  const skipped = Object.entries(report.skipped).map(([reason, count]) => `${reason} ${count}`);
  const rows = [
    ['older than', report.cutoff],
    ['pruned', report.pruned],
    ['trimmed', report.trimmed],
    ['skipped', skipped.join(', ') || 0],
    ['failed', report.failures],
  ];
  return rows.map(([name, value]) => `${String(name).padEnd(14)}${value}\n`).join('');
}
