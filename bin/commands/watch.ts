// `longshore watch`: follows a dataset until it is installed or has failed.

import { systemClock } from '../../engine/runtime/time.ts';
import { parse } from '../cli/arguments.ts';
import { CLIENT_OPTIONS, CLIENT_USAGE, openClient } from '../cli/client/client-options.ts';
import { FOLLOW_OPTIONS, FOLLOW_USAGE, follow } from '../cli/client/follow.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { UsageError } from '../cli/usage-error.ts';

const OPTIONS = { ...CLIENT_OPTIONS, ...FOLLOW_OPTIONS } as const;

export const watch: Command = {
  name: 'watch',
  usage: `longshore watch ID ${FOLLOW_USAGE} ${CLIENT_USAGE}`,
  options: OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    const [id, ...rest] = positionals;
    if (id === undefined || rest.length > 0) throw new UsageError('expected one dataset ID');
    const client = await openClient(values, io);
    const ending = await follow(client, id, values, io, systemClock, io.signal);
    if (!values.json) io.out(`${ending}\n`);
    return ending === 'installed' ? EXIT.ok : EXIT.failed;
  },
};
