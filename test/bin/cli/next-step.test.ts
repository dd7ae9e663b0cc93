// What a person is told to do about the failure of a command.

import t from 'tap';
import { ApiError } from '../../../bin/cli/command.ts';
import { COMMANDS } from '../../../bin/cli/command-table.ts';
import { nextStep } from '../../../bin/cli/next-step.ts';

t.test('whoever was refused is told the token that the command takes', async (t) => {
  for (const [name, { load }] of Object.entries(COMMANDS)) {
    const command = await load();
    const wanted = 'admin-token' in command.options ? /^use --admin-token T / : /^use --token T /;
    t.match(nextStep(command, new ApiError(401, 'refused')), wanted, name);
  }
  const audit = await COMMANDS.audit?.load();
  t.match(
    audit && nextStep(audit, new ApiError(403, 'refused')),
    /^use --admin-token T /,
    'audit is for administrators',
  );
});
