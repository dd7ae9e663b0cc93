// `longshore watch`: follows a dataset until it is installed or has failed.

import { systemClock } from '../../engine/time.ts';
import { parse } from '../arguments.ts';
import { CLIENT_OPTIONS, CLIENT_USAGE, openClient } from '../client/client-options.ts';
import { progressTeller } from '../client/progress-line.ts';
import { watchDataset } from '../client/watch-dataset.ts';
import { type Command, EXIT } from '../command.ts';
import { UsageError } from '../usage-error.ts';

export const watch: Command = {
  name: 'watch',
  usage: `longshore watch ID ${CLIENT_USAGE}`,
  options: CLIENT_OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, CLIENT_OPTIONS);
    const [id, ...rest] = positionals;
    if (id === undefined || rest.length > 0) throw new UsageError('one dataset ID is needed');
    const client = await openClient(values, io);
    const ending = await watchDataset(client, id, [], progressTeller(io), systemClock, io.signal);
    io.out(values.json ? `${JSON.stringify({ datasetId: id, ending })}\n` : `${ending}\n`);
    return ending === 'installed' ? EXIT.ok : EXIT.failed;
  },
};
