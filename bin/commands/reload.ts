// `longshore reload`: makes a running server apply the changes of its configuration file that need no restart.

import type { ReloadReport } from '../../engine/ports/process-control.ts';
import { parse } from '../cli/arguments.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../cli/client/admin-options.ts';
import { ApiError } from '../cli/client/api-error.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { jsonDocument } from '../cli/terminal/json-text.ts';
import { table } from '../cli/terminal/table.ts';
import { UsageError } from '../cli/usage-error.ts';

const INVALID_INPUT = 422;

export const reload: Command = {
  name: 'reload',
  usage: `longshore reload  ${ADMIN_USAGE}`,
  options: ADMIN_OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, ADMIN_OPTIONS);
    if (positionals.length > 0) throw new UsageError(`'${positionals.join(' ')}': reload takes options only`);
    const client = await openAdminClient(values, io);
    let report: ReloadReport;
    try {
      report = await client.reload(io.signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== INVALID_INPUT) throw error;
      io.err(`longshore reload: ${error.message}\n`);
      return EXIT.configuration;
    }
    if (values.json) io.out(jsonDocument(report));
    else {
      io.out(table([{ head: 'setting', whole: true }, { head: 'change' }], rowsOf(report), io.outTerminal));
      io.out(`${report.unchanged} settings unchanged\n`);
    }
    return EXIT.ok;
  },
};

const rowsOf = ({ applied, needsRestart }: ReloadReport): readonly (readonly string[])[] => [
  ...applied.map(({ path, from, to }) => [path, `${from} -> ${to}`]),
  ...needsRestart.map(({ path }) => [path, 'needs a restart']),
];
