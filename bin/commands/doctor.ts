// `longshore doctor`: checks every dependency that a configuration names, and says how to fix problems. It changes nothing.

import { systemClock } from '../../engine/runtime/time.ts';
import { implement } from '../cli/arguments.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { checksOf } from '../cli/doctor/checks.ts';
import { isWell, reportJson, reportText, runChecks } from '../cli/doctor/run-checks.ts';
import { loadConfig } from '../cli/load-config.ts';
import { DOCTOR } from '../cli/tree/machine.ts';

export const doctor: Command = implement(DOCTOR, async ({ values: { config: file, json } }, io) => {
  const configuration = await loadConfig(file, io);
  const checks = await checksOf(configuration, { file, env: io.env, clock: systemClock });
  const diagnoses = await runChecks(checks, systemClock, io.signal);
  io.out(json ? reportJson(diagnoses) : reportText(diagnoses));
  return isWell(diagnoses) ? EXIT.ok : EXIT.unreachable;
});
