// `longshore retry ID`: retries a delayed or dead job.

import { parse } from '../cli/arguments.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../cli/client/admin-options.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { jsonLine } from '../cli/terminal/json-text.ts';
import { UsageError } from '../cli/usage-error.ts';

export const retry: Command = {
  name: 'retry',
  usage: `longshore retry ID  ${ADMIN_USAGE}`,
  options: ADMIN_OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, ADMIN_OPTIONS);
    const id = jobId(positionals);
    const retried = await (await openAdminClient(values, io)).retry(id, io.signal);
    io.out(values.json ? jsonLine(retried) : `job ${retried.id} ${retried.state}\n`);
    return EXIT.ok;
  },
};

function jobId([text, ...more]: readonly string[]): number {
  if (text === undefined || more.length > 0) throw new UsageError('expected one job ID; `longshore jobs` lists them');
  const id = Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(id))
    throw new UsageError(
      `'${text}' is not a job ID: expected a positive whole number, as \`longshore jobs\` lists them`,
    );
  return id;
}
