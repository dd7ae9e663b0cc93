// The installer API of the configuration.

import { webcrypto } from 'node:crypto';
import type { DaemonIntervals, Daemons } from '../../actors/daemons/daemons.ts';
import type { PausableNames, PausesInForce } from '../../actors/pauses/pauses-in-force.ts';
import type { PluginBreakers } from '../../actors/plugins/plugin-breakers.ts';
import type { Configuration } from '../../config/configuration.ts';
import { PostgresAuditLog } from '../../engine/adapters/datasets/audit-postgres.ts';
import { PluginHttp } from '../../engine/adapters/plugins/plugin-http.ts';
import type { DataTypes } from '../../engine/model/data-types.ts';
import type { Grants } from '../../engine/ports/access-requests.ts';
import type { SecondChances } from '../../engine/ports/problems.ts';
import type { FailedInstalls, ProcessSettings } from '../../engine/ports/process-control.ts';
import { formatDuration } from '../../engine/runtime/duration.ts';
import { transient } from '../../engine/runtime/failure.ts';
import type { LiveSetting } from '../../engine/runtime/live-setting.ts';
import type { MetricsHistory } from '../../engine/runtime/metrics-history.ts';
import type { ChildStatus } from '../../engine/runtime/supervisor.ts';
import type { RecentLogs } from '../../http/installer/admin/logs.ts';
import type { LocalSignIn } from '../../http/installer/console/console-routes.ts';
import { eventMetrics } from '../../http/installer/events/event-routes.ts';
import { liveInstallStatus } from '../../http/installer/live-status.ts';
import { installerRoutes } from '../../http/installer/routes.ts';
import { resumableMetrics } from '../../http/installer/uploads/resumable/resumable-intake.ts';
import { SMALL_UPLOADS } from '../../http/installer/uploads/small-files.ts';
import type { AuthSettings } from '../../http/kernel/auth/authenticate.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';
import { VERSION } from '../cli/version.ts';
import { type FrontEnd, type FrontEndParts, frontEnd } from './front-end.ts';
import type { Core } from './open-core.ts';
import { webConsole } from './web-console.ts';
import type { ThreadData } from './worker-threads.ts';

/** The actors behind the front end that it queries. */
interface InstallerActors {
  readonly breakers: PluginBreakers;
  readonly daemons: Pick<Daemons, 'reconciler' | 'pruner'>;
  readonly failedInstalls: FailedInstalls;
  readonly secondChances: SecondChances;
  readonly settings: ProcessSettings;
  readonly pauses: Pick<PausesInForce, 'all'>;
  readonly pausable: PausableNames;
  readonly history: MetricsHistory;
  readonly logs: RecentLogs;
  /** The current settings. */
  readonly intervals: LiveSetting<DaemonIntervals>;
  readonly uploadExpiryMs: LiveSetting<number>;
  readonly signIn: LocalSignIn | undefined;
  /** There is a way to send mails. */
  readonly mailsAreSent: boolean;
}

export function installerFrontEnd(
  configuration: Configuration,
  core: Core,
  grants: Grants,
  types: DataTypes,
  actors: InstallerActors,
  /** Checks of the plugins and of the parts of this process. */
  others: readonly HealthCheck[],
  auth: AuthSettings,
  parts: FrontEndParts,
): Promise<FrontEnd> {
  const { containerCore, installer } = configuration;
  const { restService, daemons } = installer;
  return frontEnd(
    containerCore,
    {
      name: 'installer',
      host: containerCore.http.bindHost,
      port: containerCore.ports.installer,
      auth,
      checks: [...healthChecks(core), ...others],
      databases: [core.db],
      keys: core.keys,
      paused: () => actors.pauses.all,
      routes: [
        ...webConsole(configuration, actors.signIn, auth),
        ...installerRoutes({
          ...core,
          // Uses the pool of all reports: the trail's own pool is for writes.
          audit: new PostgresAuditLog(core.db),
          grants,
          eventLog: core.events,
          reconciler: actors.daemons.reconciler,
          pruner: actors.daemons.pruner,
          failedInstalls: actors.failedInstalls,
          secondChances: actors.secondChances,
          pausable: actors.pausable,
          history: actors.history,
          logs: actors.logs,
          onResumable: resumableMetrics(parts.metrics),
          eventMetrics: eventMetrics(parts.metrics),
          processSettings: actors.settings,
          sites: [...core.targets.values()],
          log: parts.log.child({ actor: 'installer' }),
          dataTypes: types,
          installStatus: liveInstallStatus(core.targets, parts.clock),
          clock: parts.clock,
          random: (bytes) => webcrypto.getRandomValues(bytes),
          settings: {
            maxUploadBytes: restService.maxUploadSize,
            resumablePerUser: restService.resumableUploads.perUser,
            resumableExpiryMs: () => actors.uploadExpiryMs.current,
            userMaxStorageBytes: restService.userMaxStorageSize,
            autoAcceptShares: restService.autoAcceptShares,
            retentionMs: daemons.pruner.retentionWindowMs,
            webhooks: restService.webhooks,
            mailsAreSent: actors.mailsAreSent,
            uploadsPerUser: containerCore.http.limits.uploadsPerUser,
            waitingPerUser: containerCore.http.limits.waitingPerUser,
            eventStreams: {
              perUser: containerCore.http.limits.eventStreamsPerUser,
              total: containerCore.http.limits.eventStreams,
            },
            small: SMALL_UPLOADS,
            buildInfo: { name: 'longshore', version: VERSION, node: process.version },
            reconciler: () => {
              const { fullRunIntervalMs, slimRunIntervalMs } = actors.intervals.current.reconciler;
              return {
                enabled: daemons.reconciler.enabled,
                fullRunInterval: formatDuration(fullRunIntervalMs),
                slimRunInterval: formatDuration(slimRunIntervalMs),
                performDeletes: daemons.reconciler.performDeletes,
              };
            },
            installTargets: installer.installTargets.map((target) => ({
              id: target.targetId,
              name: target.targetName,
              enabled: true,
              category: target.projectCategory,
              ...(target.metaValidation ? { metaValidation: target.metaValidation } : {}),
            })),
          },
        }),
      ],
    },
    parts,
  );
}

const targetChecks = ({ targetPools }: Pick<Core, 'targetPools'>): readonly HealthCheck[] =>
  [...targetPools].map(([id, pool]) => ({
    name: `target ${id}`,
    vital: false,
    probe: (signal) => pool.probe(signal),
  }));

/** Nothing works without the cache DB or the store. */
const vitalChecks = ({ db, store }: Pick<Core, 'db' | 'store'>): readonly HealthCheck[] => [
  { name: 'cache-db', vital: true, probe: (signal) => db.probe(signal) },
  { name: 'object-store', vital: true, probe: (signal) => store.probe(signal) },
];

/** While a target is unavailable, only its own jobs wait. */
const healthChecks = (core: Core): readonly HealthCheck[] => [
  ...vitalChecks(core),
  ...core.checks,
  ...targetChecks(core),
];

/** The external dependencies of the configured installer service, each with its probe. */
export const watchedDependencies = (
  core: Pick<Core, 'db' | 'store' | 'checks' | 'targetPools'>,
  plugins: ThreadData['plugins'],
): readonly HealthCheck[] => [...vitalChecks(core), ...core.checks, ...targetChecks(core), ...plugins.map(pluginCheck)];

/**
 * Plugin checks for /health: fail when calls get no response, or when nothing serves the plugin. Their messages are public, so
 * they do not contain the server's address.
 */
export const pluginChecks = (plugins: ThreadData['plugins'], breakers: PluginBreakers): readonly HealthCheck[] =>
  plugins.map((plugin) => {
    const { name, vital, probe } = pluginCheck(plugin);
    return {
      ...{ name, vital },
      async probe(signal) {
        breakers.check(plugin.key);
        await probe(signal).catch((cause: unknown) => {
          throw transient(`plugin ${plugin.key} is not reachable`, { unreachable: true, cause });
        });
      },
    };
  });

/** Lanes, daemons and front ends of this process: reports those that crashed until the supervisor has restarted them. */
export const partsCheck = (statuses: () => readonly ChildStatus[]): HealthCheck => ({
  name: 'lanes and daemons',
  vital: false,
  async probe() {
    const down = statuses().filter(({ state }) => state === 'down');
    if (down.length > 0) throw transient(`down: ${down.map(({ name }) => name).join(', ')}`);
  },
});

/** Probes the server itself: the breakers know only the results of calls. */
const pluginCheck = (plugin: ThreadData['plugins'][number]): HealthCheck => ({
  name: `plugin ${plugin.key}`,
  vital: false,
  async probe(signal) {
    await using client = new PluginHttp(plugin);
    await client.probe(signal);
  },
});
