// `longshore serve`: runs whatever the file configures until SIGTERM or SIGINT; logs as JSON lines on standard output.

import { createLogger } from '../../engine/log.ts';
import { systemClock } from '../../engine/time.ts';
import { parse } from '../arguments.ts';
import { type Command, EXIT } from '../command.ts';
import { loadConfig } from '../load-config.ts';
import { runService } from '../run-service.ts';
import { UsageError } from '../usage-error.ts';

const OPTIONS = { config: { type: 'string' } } as const;

export const serve: Command = {
  name: 'serve',
  summary: 'run what a configuration file configures',
  usage: 'longshore serve --config FILE',
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    if (values.config === undefined || positionals.length > 0)
      throw new UsageError('--config FILE is needed, and no more');
    const configuration = await loadConfig(values.config, io);
    const log = createLogger({ level: configuration.containerCore.log.level, to: { fd: 1 } });
    const ended = await runService(
      {
        configuration,
        clock: systemClock,
        log,
        ready: async (addresses) => log.info({ ...addresses }, 'ready'),
      },
      io.signal,
    );
    return ended === 'stopped' ? EXIT.ok : EXIT.failed;
  },
};
