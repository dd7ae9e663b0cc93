// `longshore serve`: runs the configured services until SIGTERM or SIGINT; logs JSON lines to standard output.

import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createLogger, LogThreshold } from '../../engine/runtime/log.ts';
import { RecentLog } from '../../engine/runtime/recent-log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { implement } from '../cli/arguments.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { loadConfigFile } from '../cli/load-config.ts';
import { SERVE } from '../cli/tree/servers.ts';
import { runService } from '../compose/run-service.ts';
import { tellReady } from '../compose/tuning-signals.ts';

export const serve: Command = implement(SERVE, async ({ values }, io) => {
  const { configuration, source } = await loadConfigFile(values.config, io);
  const threshold = new LogThreshold(configuration.containerCore.log.level);
  const recent = new RecentLog();
  const log = createLogger({ level: threshold, to: { fd: 1 }, recent });
  const ended = await runService(
    {
      configuration,
      source,
      threshold,
      clock: systemClock,
      log,
      recent,
      env: io.env,
      scratchDir: scratchDir(values.config, configuration.containerCore.ports.installer),
      ready: async (addresses, signal) => {
        log.info({ ...addresses }, 'ready');
        await tellReady(io.env, log, signal);
      },
    },
    io.signal,
  );
  return ended === 'stopped' ? EXIT.ok : EXIT.failed;
});

/**
 * The same path at each start, so that the next start finds and kills what a killed process left running. The port separates
 * two processes on one machine.
 */
function scratchDir(config: string, port: number): string {
  const hash = createHash('sha256').update(resolve(config)).digest('hex').slice(0, 12);
  return join(tmpdir(), `longshore-${hash}-${port}`);
}
