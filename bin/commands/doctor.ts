// `longshore doctor`: checks every dependency that a configuration names, and says how to fix problems. It changes nothing.

import { systemClock } from '../../engine/runtime/time.ts';
import { parse } from '../cli/arguments.ts';
import { type Command, EXIT, UsageError } from '../cli/command.ts';
import { checksOf } from '../cli/doctor/checks.ts';
import { isWell, reportJson, reportText, runChecks } from '../cli/doctor/run-checks.ts';
import { loadConfig } from '../cli/load-config.ts';

const OPTIONS = { config: { type: 'string', path: 'file' }, json: { type: 'boolean', default: false } } as const;

export const doctor: Command = {
  name: 'doctor',
  usage: 'longshore doctor --config FILE [--json]',
  options: OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    const { config: file, json } = values;
    if (file === undefined || positionals.length > 0) throw new UsageError('--config FILE is required');
    const configuration = await loadConfig(file, io);
    const checks = await checksOf(configuration, { file, env: io.env, clock: systemClock });
    const diagnoses = await runChecks(checks, systemClock, io.signal);
    io.out(json ? reportJson(diagnoses) : reportText(diagnoses));
    return isWell(diagnoses) ? EXIT.ok : EXIT.unreachable;
  },
};
