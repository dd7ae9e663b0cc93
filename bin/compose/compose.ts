// Turns a configuration into a running service: creates the adapters once, in one scope, and passes them to lanes and front
// ends.

import { join } from 'node:path';
import { ClearFailed } from '../../actors/daemons/clear-failed.ts';
import { Daemons } from '../../actors/daemons/daemons.ts';
import { SecondChance } from '../../actors/daemons/second-chance.ts';
import { tellSites } from '../../actors/daemons/site-grants.ts';
import { datasetMetrics } from '../../actors/jobs/queue-metrics.ts';
import { Scratch } from '../../actors/jobs/scratch.ts';
import { PausesInForce } from '../../actors/pauses/pauses-in-force.ts';
import { CallsInProgress } from '../../actors/plugin-host/calls-in-progress.ts';
import { PluginBreakers } from '../../actors/plugins/plugin-breakers.ts';
import { topology } from '../../actors/topology.ts';
import type { Configuration } from '../../config/configuration.ts';
import { PostgresGrantChanges, PostgresGrants } from '../../engine/adapters/access/user-datasets.ts';
import { PostgresIdempotencyKeys } from '../../engine/adapters/idempotency/idempotency-keys-postgres.ts';
import { MAIL_PROBLEMS, PostgresServiceProblems } from '../../engine/adapters/jobs/service-problems-postgres.ts';
import { DiskFloor } from '../../engine/adapters/uploads/disk-floor.ts';
import { NO_GRANT_CHANGES, NO_GRANTS } from '../../engine/ports/access-requests.ts';
import type { ProcessSettings } from '../../engine/ports/process-control.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { MetricsHistory } from '../../engine/runtime/metrics-history.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import type { ChildStatus } from '../../engine/runtime/supervisor.ts';
import type { RecentLogs } from '../../http/installer/admin/logs.ts';
import type { LocalSignIn } from '../../http/installer/console/console-routes.ts';
import { AuditTrail } from '../../http/kernel/pipeline/audit-trail.ts';
import { openAccess } from './access-database.ts';
import { mailDelivery } from './access-mail.ts';
import { accessService } from './access-service.ts';
import { eventMailChildren } from './event-mails.ts';
import { authSettings } from './front-end.ts';
import { type Handler, handler } from './handler.ts';
import { installerFrontEnd, partsCheck, pluginChecks, watchedDependencies } from './installer-front-end.ts';
import { laneChannels, pausableNames, uploadLimits } from './lane-settings.ts';
import type { LiveSettings } from './live-settings.ts';
import { metricsHistory } from './metrics-history.ts';
import { type CoreParts, dataTypes, openCore, urlUploads } from './open-core.ts';
import { callingLocally, callsAtOnce, pluginHost, receivedFiles } from './plugin-host.ts';
import { reportService } from './report-service.ts';
import { retentions } from './retentions.ts';
import { storeData } from './store-reader.ts';
import { dependencyWatch, diskWatch, writtenFolders } from './watch-dependencies.ts';
import { webhookChildren } from './webhooks.ts';
import { type ThreadData, workerThreads } from './worker-threads.ts';

/** How long sites may show outdated grants. Without grants there is nothing to tell them. */
const GRANTS_MS = 5_000;
const NO_GRANTS_MS = 3_600_000;

/** Base URLs without trailing slash, of the front ends that run. */
export interface Addresses {
  readonly installer: string;
  readonly handler?: string;
  readonly report?: string;
  readonly access?: string;
  readonly pluginHost?: string;
}

export interface Service {
  /** In start order. */
  readonly children: readonly ChildSpec[];
  readonly ready: { set(value: boolean): void };
  /** Sets the function that returns the children's statuses. */
  watched(statuses: () => readonly ChildStatus[]): void;
  addresses(): Addresses;
}

interface ComposeParts extends CoreParts {
  /** Where mails are stored when no mail server is configured; undefined = they wait. */
  readonly mailDir?: string | undefined;
  /** Undefined: people sign in to the web console at the configured issuer, or with a token. */
  readonly signIn?: LocalSignIn | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Scratch space of this process only; created and emptied at startup. */
  readonly scratchDir: string;
  /** The settings that may change at run time. */
  readonly live: LiveSettings;
  readonly settings: ProcessSettings;
  readonly logs: RecentLogs;
}

export async function compose(
  configuration: Configuration,
  parts: ComposeParts,
  scope: Scope,
  signal: AbortSignal,
): Promise<Service> {
  const { clock, log, metrics } = parts;
  const { containerCore, installer } = configuration;
  const core = await openCore(installer, parts, scope, signal);
  const types = dataTypes(installer.plugins, installer.installTargets);
  const data = threadData(configuration, parts.live);
  const threads = workerThreads(data, { clock, log, metrics });
  const breakers = new PluginBreakers(types, { clock, log, metrics });
  const pausable = pausableNames(configuration);
  const inForce = scope.use('pauses', new PausesInForce(core.pauses, pausable, { clock, log, metrics }));
  // Read before anything claims.
  await inForce.refresh(signal);
  const history = new MetricsHistory();
  const scratch = new Scratch(join(parts.scratchDir, 'jobs'));
  await scratch.clear();

  const daemons = new Daemons({
    ...core,
    ...{ types, clock, log, metrics, random: Math.random },
    settings: installer.daemons,
  });
  parts.live.daemonIntervals.watch((intervals) => daemons.changeIntervals(intervals));

  const failedInstalls = new ClearFailed({ ...core, clock, log });

  let ready = false;
  let statuses: () => readonly ChildStatus[] = () => [];
  const { adminListener } = containerCore.http;
  const trail = scope.use(
    'audit trail',
    new AuditTrail({ table: core.audit, clock, log: log.child({ actor: 'audit' }), metrics }),
  );
  const hosted = configuration.pluginHost?.inProcess ?? [];
  const folders = writtenFolders(configuration, hosted, parts.scratchDir);
  const { floor, floorSize } = containerCore.disk;
  const room = new DiskFloor({ folders, floorPercent: floor, floorBytes: floorSize, clock, log });
  const frontEndParts = {
    ...{ clock, log, metrics, ready: () => ready, room, trail },
    adminListener: adminListener && { host: adminListener.bindHost, port: adminListener.port },
  };
  const auth = await authSettings(containerCore, core.accounts, clock, log, parts.signIn?.signOuts);
  const host =
    configuration.pluginHost && hosted.length > 0
      ? await pluginHost(
          configuration,
          {
            plugins: hosted,
            host: configuration.pluginHost.bindHost,
            port: containerCore.ports.pluginHost,
            env: parts.env,
            workspace: configuration.pluginHost.workspace ?? join(parts.scratchDir, 'plugins'),
            paused: () => inForce.pausesOf('plugin', hosted),
          },
          threads.archives,
          frontEndParts,
          scope,
        )
      : undefined;
  const calls = new CallsInProgress();
  const { handler: handlerSection } = configuration;
  const jobs: Handler | undefined =
    handlerSection &&
    (await handler(
      { containerCore, installer, handler: handlerSection },
      { ...frontEndParts, core, packages: threads.archives, env: parts.env, scratchDir: parts.scratchDir },
      scope,
      signal,
    ));
  const reports = await reportService(
    configuration,
    auth,
    {
      ...frontEndParts,
      ...{ core, live: parts.live, pauses: inForce },
      zip: threads.archives.zip,
      env: parts.env,
      scratchDir: parts.scratchDir,
    },
    scope,
    signal,
  );
  const accessDb = await openAccess(configuration, log, scope, signal);
  const mail = accessDb && new PostgresServiceProblems(accessDb, MAIL_PROBLEMS);
  const secondChances = new SecondChance({ ...core, services: { report: reports?.problems, mail }, clock, log });
  const delivery = await mailDelivery(configuration, parts.mailDir, scope);
  const api = await installerFrontEnd(
    configuration,
    core,
    accessDb ? new PostgresGrants(accessDb) : NO_GRANTS,
    types,
    {
      ...{ breakers, daemons, failedInstalls, settings: parts.settings, intervals: parts.live.daemonIntervals },
      uploadExpiryMs: parts.live.uploadExpiryMs,
      mailsAreSent: delivery !== undefined,
      ...{ pauses: inForce, pausable, history, secondChances },
      ...{ logs: parts.logs, signIn: parts.signIn },
    },
    [...pluginChecks(data.plugins, breakers), partsCheck(() => statuses())],
    auth,
    frontEndParts,
  );
  const access = await accessService(configuration, core, accessDb, auth, {
    ...frontEndParts,
    delivery,
    live: parts.live,
  });
  return {
    children: [
      threads.spec,
      ...(host ? [calls.spec({ clock, log }), host.spec] : []),
      // Stopped after the lanes: a running job may use the whole shutdown time.
      ...(jobs?.children ?? []),
      ...(reports?.children ?? []),
      ...topology({
        ...core,
        tasks: host
          ? callingLocally(threads.tasks, host.host, configuration, data.plugins, {
              ...{ store: core.uncountedStore, calls, room, clock, log },
            })
          : threads.tasks,
        breakers,
        received: host && receivedFiles(host.host, configuration, core.uncountedStore, log),
        pauses: { inForce, waits: core.pauses, spec: () => inForce.spec() },
        hosted: configuration.pluginHost && { plugins: hosted, scripts: callsAtOnce(configuration.pluginHost) },
        types,
        room,
        tuning: parts.live.lanes,
        channels: laneChannels(installer.lanes),
        uploadLimits: uploadLimits(installer, parts.live),
        scratch,
        daemons,
        clock,
        log,
        metrics,
        random: Math.random,
      }),
      ...webhookChildren(installer, core, inForce, { clock, log, metrics }, scope),
      ...eventMailChildren(delivery, core, { clock, log, metrics }),
      failedInstalls.spec(),
      {
        name: 'siteGrants',
        create: () =>
          tellSites({
            changes: accessDb ? new PostgresGrantChanges(accessDb) : NO_GRANT_CHANGES,
            sites: core.siteGrants,
            periodMs: accessDb ? GRANTS_MS : NO_GRANTS_MS,
            ...parts,
          }),
      },
      metricsHistory(history, parts),
      { name: 'datasetMetrics', create: () => datasetMetrics({ reports: core.reports, ...parts }) },
      ...retentions(core, [accessDb && new PostgresIdempotencyKeys(accessDb), reports?.keys], {
        ...parts,
        auditMs: containerCore.audit.retentionMs,
        historyMs: parts.live.historyRetentionMs,
      }),
      ...(access?.children ?? []),
      api.spec,
      ...(api.admin ? [api.admin] : []),
      diskWatch(folders, parts),
      // Last, because by then the parts of this process can be probed.
      dependencyWatch(
        [...watchedDependencies(core, data.plugins), ...(reports?.watched ?? []), ...(access?.watched ?? [])],
        parts,
      ),
    ],
    ready: {
      set(value) {
        ready = value;
      },
    },
    watched(of) {
      statuses = of;
    },
    addresses: () => ({
      installer: api.url(),
      ...(jobs ? { handler: jobs.url() } : {}),
      ...(reports ? { report: reports.url() } : {}),
      ...(access ? { access: access.url() } : {}),
      ...(host ? { pluginHost: host.url() } : {}),
    }),
  };
}

function threadData({ installer }: Configuration, { pluginTimes }: LiveSettings): ThreadData {
  return {
    store: storeData(installer.objectStore),
    remote: urlUploads(installer),
    plugins: Object.entries(installer.plugins).map(([key, plugin]) => {
      const { scripts, server, token } = plugin;
      const times = pluginTimes.get(key);
      const host = server.host.includes(':') ? `[${server.host}]` : server.host;
      return {
        key,
        baseUrl: `http://${host}:${server.port}`,
        token,
        scriptMs: {
          import: scripts.dataCleaning.maxDurationMs,
          installData: scripts.checkCompatibility.maxDurationMs + scripts.dataInstall.maxDurationMs,
          installMeta: scripts.metaUpdate.maxDurationMs,
          uninstall: scripts.uninstall.maxDurationMs,
        },
        ...(times ? { times } : {}),
      };
    }),
  };
}
