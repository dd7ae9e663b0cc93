// What a person is told to do about the failure of a command.

import t from 'tap';
import { ApiError } from '../../../bin/cli/command.ts';
import { allCommands } from '../../../bin/cli/command-table.ts';
import { nextStep } from '../../../bin/cli/next-step.ts';

t.test('whoever was refused is told the token that the command takes', async (t) => {
  for (const command of allCommands()) {
    const wanted = 'admin-token' in command.spec.options ? /^use --admin-token T / : /^use --token T /;
    t.match(nextStep(command, new ApiError(401, 'refused')), wanted, command.name);
  }
  const audit = allCommands().find(({ name }) => name === 'audit export');
  t.match(
    audit && nextStep(audit, new ApiError(403, 'refused')),
    /^use --admin-token T /,
    'audit is for administrators',
  );
});
