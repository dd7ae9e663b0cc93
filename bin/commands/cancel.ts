// `longshore cancel ID`: ends a running job. It runs again only when it is retried.

import { implement } from '../cli/arguments.ts';
import { openAdminClient } from '../cli/client/client-options.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { jsonLine } from '../cli/terminal/text.ts';
import { CANCEL } from '../cli/tree/pauses.ts';
import { jobId } from './jobs.ts';

export const cancel: Command = implement(CANCEL, async ({ values, args: { job } }, io) => {
  const { hard, reason } = values;
  const order = { hard, ...(reason === undefined ? {} : { reason }) };
  const asked = await (await openAdminClient(values, io)).cancel(jobId(job), order, io.signal);
  io.out(values.json ? jsonLine(asked) : `job ${asked.id} ${asked.state}\n`);
  return EXIT.ok;
});
