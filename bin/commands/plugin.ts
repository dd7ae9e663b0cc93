// `longshore plugin`: runs the plugin host of one plugin, on the address in the configuration.

import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { changedConfiguration, loadConfiguration } from '../../config/load.ts';
import { formatFault } from '../../config/validate.ts';
import { DiskFloor } from '../../engine/adapters/uploads/disk-floor.ts';
import { createLogger, LogThreshold } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { observeProcess } from '../../engine/runtime/process-metrics.ts';
import { Scope } from '../../engine/runtime/scope.ts';
import { shutDown } from '../../engine/runtime/shutdown.ts';
import { Supervisor } from '../../engine/runtime/supervisor.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import { AuditTrail } from '../../http/kernel/pipeline/audit-trail.ts';
import { implement } from '../cli/arguments.ts';
import { type Command, ConfigurationError, EXIT, UsageError } from '../cli/command.ts';
import { filesExist } from '../cli/load-config.ts';
import { PLUGIN } from '../cli/tree/servers.ts';
import { demandAddresses } from '../compose/listeners.ts';
import { pluginHost } from '../compose/plugin-host.ts';
import { Reloading, type SettingsApplier } from '../compose/reloading.ts';
import { tellReady, tunedBySignals } from '../compose/tuning-signals.ts';
import { diskWatch, writtenFolders } from '../compose/watch-dependencies.ts';
import { workerThreads } from '../compose/worker-threads.ts';

/**
 * A plugin's machine needs only the passwords of the data databases. Other sections, and control databases, are not even read.
 */
export const OF_PLUGIN_HOST = {
  sections: [
    'containerCore.http',
    'containerCore.log',
    'containerCore.ports',
    'containerCore.shutdownGraceMs',
    'containerCore.disk',
    'pluginHost',
    'installer.plugins',
    'installer.installTargets',
    'installer.ldap',
    'installer.siteBuild',
  ],
  leaveOut: ['controlDb'],
} as const;

export const plugin: Command = implement(PLUGIN, async ({ values: { config, id } }, io) => {
  const load = () => loadConfiguration(config, { env: io.env, check: filesExist, ...OF_PLUGIN_HOST });
  const loaded = await load();
  if (!loaded.ok) throw new ConfigurationError(loaded.faults.map(formatFault).join('\n'));
  const { containerCore, installer, pluginHost: own } = loaded.configuration;
  const entry = installer.plugins[id];
  if (!entry) throw new UsageError(`--id '${id}': expected one of ${Object.keys(installer.plugins).join(', ')}`);

  const clock = systemClock;
  const threshold = new LogThreshold(containerCore.log.level);
  const log = createLogger({ level: threshold, to: { fd: 1 } });
  // Of the live settings, a plugin host has only the log level: timeouts are up to its callers.
  const level: SettingsApplier<typeof loaded.configuration> = {
    apply: (kinds, next) => void (kinds.has('log-level') && threshold.set(next.containerCore.log.level)),
  };
  const source = {
    ...{ file: config, document: loaded.document, load },
    finish: (document: unknown) => changedConfiguration(config, document),
  };
  const settings = new Reloading(source, level, threshold, clock, log);
  using signals = tunedBySignals(settings, log, io.signal);
  const { signal } = signals;
  signal.addEventListener('abort', () => settings.end(), { once: true });
  const metrics = new Metrics();
  await using scope = new Scope({ clock, log });
  scope.use('process metrics', observeProcess(metrics, clock));
  const threads = workerThreads({ store: undefined, plugins: [] }, { clock, log, metrics });
  let ready = false;
  // A plugin host has no database of its own.
  const trail = scope.use(
    'audit trail',
    new AuditTrail({ table: undefined, clock, log: log.child({ actor: 'audit' }), metrics }),
  );
  const scratch = workspace(config, id);
  const section = own ? { pluginHost: own } : {};
  const address = { host: own?.bindHost ?? containerCore.http.bindHost, port: entry.server.port };
  await demandAddresses([{ name: 'pluginHost', ...address }]);
  const folders = writtenFolders({ installer, ...section }, [id], scratch);
  const { floor, floorSize } = containerCore.disk;
  const room = new DiskFloor({ folders, floorPercent: floor, floorBytes: floorSize, clock, log });
  const host = await pluginHost(
    { containerCore, installer, ...section },
    {
      plugins: [id],
      ...address,
      env: io.env,
      workspace: own?.workspace ?? scratch,
    },
    threads.archives,
    { clock, log, metrics, ready: () => ready, room, trail },
    scope,
  );
  const disks = diskWatch(folders, { clock, log, metrics });
  const tree = new Supervisor({
    name: 'longshore-plugin',
    clock,
    log,
    metrics,
    children: [threads.spec, host.spec, disks],
  });
  try {
    await tree.start(signal);
    settings.started();
    ready = true;
    log.info({ url: host.url(), plugin: id }, 'ready');
    await tellReady(io.env, log, signal);
    await unlessAborted(tree.broken, signal);
    return EXIT.failed;
  } catch (error) {
    if (signal.aborted) return EXIT.ok;
    throw error;
  } finally {
    await shutDown(
      {
        process,
        child: tree,
        graceMs: containerCore.shutdownGraceMs,
        unready: () => {
          ready = false;
        },
        close: () => scope[Symbol.asyncDispose](),
        clock,
        log,
      },
      signal.aborted ? EXIT.ok : EXIT.failed,
    );
  }
});

/** The same path at each start, so that the next start finds and kills scripts that a killed host left running. */
function workspace(config: string, id: string): string {
  const hash = createHash('sha256').update(resolve(config)).digest('hex').slice(0, 12);
  return join(tmpdir(), `longshore-plugin-${hash}-${id.replace(/[^A-Za-z0-9_-]/g, '_')}`);
}
