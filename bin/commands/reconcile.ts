// `longshore reconcile`: compares all datasets with the object store now.

import { systemClock } from '../../engine/runtime/time.ts';
import { parse } from '../cli/arguments.ts';
import type { ReconcileRun } from '../cli/client/admin-client.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../cli/client/admin-options.ts';
import { runToItsEnd } from '../cli/client/order-run.ts';
import { showProgress } from '../cli/client/show-transfer.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/json-text.ts';
import { oneLine } from '../cli/terminal/plain-text.ts';
import { listing } from '../cli/terminal/table.ts';
import { UsageError } from '../cli/usage-error.ts';

const OPTIONS = { ...ADMIN_OPTIONS, 'allow-deletes': { type: 'boolean' }, wait: { type: 'boolean' } } as const;

export const reconcile: Command = {
  name: 'reconcile',
  usage: `longshore reconcile [--allow-deletes] [--wait]  ${ADMIN_USAGE}`,
  options: OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    if (positionals.length > 0) throw new UsageError(`'${positionals.join(' ')}': reconcile takes options only`);
    const client = await openAdminClient(values, io);
    const start = (signal: AbortSignal) => client.reconcile(values['allow-deletes'] === true, signal);
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
  },
};

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
