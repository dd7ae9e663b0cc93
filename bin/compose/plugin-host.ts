// The configured plugin host: some plugins, their scripts, one port.

import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CallGateLimits } from '../../actors/plugin-host/call-gate.ts';
import type { HostedPlugin, HostedTarget } from '../../actors/plugin-host/hosted-plugins.ts';
import { type InstalledModes, PRIVATE } from '../../actors/plugin-host/installed-tree.ts';
import type { CallName } from '../../actors/plugin-host/local-call.ts';
import { type LocalPluginsOptions, withLocalPlugins } from '../../actors/plugin-host/local-plugins.ts';
import { PluginHost } from '../../actors/plugin-host/plugin-host.ts';
import { ReceivedFiles } from '../../actors/plugin-host/received-files.ts';
import type { Archives } from '../../actors/tasks/archives.ts';
import type { TaskRunner } from '../../actors/tasks/task-map.ts';
import {
  type Configuration,
  dataSchemaOf,
  type InstallTargetConfiguration,
  type PluginConfiguration,
} from '../../config/configuration.ts';
import type { PluginHostConfiguration } from '../../config/schema/plugins.ts';
import { callMs } from '../../engine/adapters/plugins/plugin-http.ts';
import { ChildProcessRunner } from '../../engine/adapters/scripts/child-process.ts';
import { endLeftoverScripts } from '../../engine/adapters/scripts/child-process-records.ts';
import { MAX_ENTRIES } from '../../engine/archive/archive-limits.ts';
import type { Directory } from '../../engine/ports/directory.ts';
import type { Pause } from '../../engine/ports/pauses.ts';
import { defect, Failure } from '../../engine/runtime/failure.ts';
import { scriptSpawner } from '../../engine/runtime/program-files.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import { type BuildManifest, pluginRoutes } from '../../http/plugin-host/routes.ts';
import { VERSION } from '../cli/version.ts';
import { openDirectory, targetConnection } from './databases.ts';
import { type FrontEnd, type FrontEndParts, frontEnd, noUsers } from './front-end.ts';
import type { ThreadData } from './worker-threads.ts';

interface PluginHostSettings {
  /** Keys of the plugins that it serves. */
  readonly plugins: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Scratch space of this host only; created if missing. */
  readonly workspace: string;
  /** Which of its plugins operators have paused, for /health. Default: it does not know. */
  readonly paused?: () => readonly Pause[];
}

type HostSections = Pick<Configuration, 'pluginHost'> & {
  readonly containerCore: Pick<Configuration['containerCore'], 'http'>;
  readonly installer: Pick<Configuration['installer'], 'plugins' | 'installTargets' | 'siteBuild' | 'ldap'>;
};

/** Default paths of the scripts in a plugin's image, when `pathOverride` is not set. */
export const SCRIPT_PATHS = {
  dataCleaning: '/opt/longshore/bin/import',
  checkCompatibility: '/opt/longshore/bin/check-compatibility',
  dataInstall: '/opt/longshore/bin/install-data',
  metaUpdate: '/opt/longshore/bin/install-meta',
  uninstall: '/opt/longshore/bin/uninstall',
} as const;

/** A plugin host, and the front end that serves it over HTTP. */
interface ServedHost extends FrontEnd {
  readonly host: PluginHost;
}

export async function pluginHost(
  configuration: HostSections,
  settings: PluginHostSettings,
  archives: Archives,
  parts: FrontEndParts,
  scope: Scope,
): Promise<ServedHost> {
  const { clock, log, metrics } = parts;
  const { installer } = configuration;
  const { workspace } = settings;
  const stateDir = join(workspace, 'running');
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const ended = await endLeftoverScripts(stateDir, log, clock);
  if (ended > 0) log.warn({ scripts: ended }, 'killed scripts left running by a crashed process');
  const runner = scope.use(
    'script runner',
    new ChildProcessRunner({ stateDir, spawner: scriptSpawner(join(stateDir, 'compiled')) }, clock, log),
  );
  const plugins = settings.plugins.flatMap((name) => hosted(name, installer.plugins[name]));
  const directory = await openDirectory(installer.ldap, log);
  const host = new PluginHost(
    {
      plugins,
      targets: installer.installTargets.map((target) => hostedTarget(target, directory)),
      siteBuild: installer.siteBuild,
      workDir: join(workspace, 'work'),
      spareDir: join(workspace, 'spare'),
      marksDir: join(workspace, 'clear', installer.siteBuild),
      environment: settings.env,
      archiveLimits: {
        maxTotalBytes: Number.MAX_SAFE_INTEGER,
        maxFileBytes: Number.MAX_SAFE_INTEGER,
        maxEntries: MAX_ENTRIES,
      },
      gate: gateOf(configuration.pluginHost),
      installed: await modesOf(configuration.pluginHost),
    },
    { runner, archives, metrics, clock, log },
  );
  await host.prepare();
  const front = await frontEnd(
    configuration.containerCore,
    {
      name: 'pluginHost',
      host: settings.host,
      port: settings.port,
      routes: pluginRoutes(host, {
        token: configuration.pluginHost?.token,
        maxPayloadBytes: Number.MAX_SAFE_INTEGER,
        build: buildManifest(),
        room: parts.room,
      }),
      checks: [{ name: 'workspace', vital: true, probe: () => host.probe() }],
      // The protocol has its own token.
      auth: noUsers(parts),
      ...(settings.paused && { paused: settings.paused }),
    },
    parts,
  );
  return { ...front, host };
}

/** The tasks that call a plugin, by the name of the call in the protocol. */
const CALLS = {
  'import-dataset': 'import',
  'install-data': 'installData',
  'install-meta': 'installMeta',
  'install-files': 'installFiles',
  uninstall: 'uninstall',
  'uninstall-files': 'uninstallFiles',
} as const satisfies Record<CallName, Parameters<typeof callMs>[1]>;

/** Calls plugins of the host without HTTP, if their configured address is the host's own address on this machine. */
export function callingLocally(
  tasks: TaskRunner,
  host: PluginHost,
  configuration: Pick<Configuration, 'pluginHost' | 'containerCore' | 'installer'>,
  plugins: ThreadData['plugins'],
  parts: Pick<LocalPluginsOptions, 'store' | 'calls' | 'room' | 'clock' | 'log'>,
): TaskRunner {
  const byKey = new Map(plugins.map((plugin) => [plugin.key, plugin]));
  return withLocalPlugins(tasks, {
    ...parts,
    host,
    plugins: calledLocally(configuration),
    log: parts.log.child({ actor: 'pluginHost' }),
    limitMs(plugin, call) {
      const options = byKey.get(plugin);
      if (!options) throw defect(`no plugin ${plugin}`);
      return callMs(options, CALLS[call]);
    },
  });
}

/** Keeps received files for the plugins that are called without HTTP. */
export const receivedFiles = (
  { trees }: PluginHost,
  configuration: Parameters<typeof calledLocally>[0],
  store: LocalPluginsOptions['store'],
  log: FrontEndParts['log'],
): ReceivedFiles => new ReceivedFiles({ trees, store, plugins: calledLocally(configuration), log });

/** Keys of the plugins that this process serves to itself. Another address may lead to another process. */
export function calledLocally({
  pluginHost,
  containerCore,
  installer,
}: Pick<Configuration, 'pluginHost'> & {
  readonly containerCore: Pick<Configuration['containerCore'], 'ports'>;
  readonly installer: Pick<Configuration['installer'], 'plugins'>;
}): readonly string[] {
  const here = new Set([...LOOPBACK, ...(pluginHost ? [pluginHost.bindHost] : [])]);
  return (pluginHost?.inProcess ?? []).filter((key) => {
    const server = installer.plugins[key]?.server;
    return server !== undefined && server.port === containerCore.ports.pluginHost && here.has(server.host);
  });
}

export const LOOPBACK: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/** Without the section, which `longshore plugin` does not require, the schema's defaults apply. */
function gateOf(settings: PluginHostConfiguration | undefined): CallGateLimits {
  const { scripts = 10, calls = 60, waitMs = 30_000 } = settings?.limits ?? {};
  return { maxScripts: scripts, maxCalls: calls, maxWaitMs: waitMs };
}

async function modesOf(settings: PluginHostConfiguration | undefined): Promise<InstalledModes> {
  const { group, others } = settings?.installed ?? PRIVATE;
  if (group === undefined || typeof group === 'number') return { group, others };
  return { group: await groupNumber('pluginHost.installed.group', group), others };
}

/** How many calls of the lanes in its process a host can take without rejecting any. */
export function callsAtOnce({ limits }: PluginHostConfiguration): number {
  return Math.min(limits.scripts, limits.calls);
}

function hosted(name: string, plugin: PluginConfiguration | undefined): readonly HostedPlugin[] {
  if (!plugin) return [];
  const script = (key: keyof typeof SCRIPT_PATHS): HostedPlugin['scripts'][typeof key] => ({
    path: plugin.scripts[key].pathOverride ?? SCRIPT_PATHS[key],
    maxDurationMs: plugin.scripts[key].maxDurationMs,
  });
  const { cpu, fileSize } = plugin.limits;
  return [
    {
      name,
      dataTypes: plugin.dataTypes.map((type) => ({ ...type, name: type.name.toLowerCase(), plugin: name })),
      customPath: plugin.customPath,
      installRoot: plugin.installRoot,
      staging: plugin.staging,
      scripts: {
        dataCleaning: script('dataCleaning'),
        checkCompatibility: script('checkCompatibility'),
        dataInstall: script('dataInstall'),
        metaUpdate: script('metaUpdate'),
        uninstall: script('uninstall'),
      },
      limits: {
        ...(cpu === undefined ? {} : { cpuSeconds: cpu }),
        ...(fileSize === undefined ? {} : { fileSizeBytes: fileSize }),
      },
    },
  ];
}

function hostedTarget(target: InstallTargetConfiguration, directory: Directory | undefined): HostedTarget {
  return {
    id: target.targetId,
    dataTypes: target.dataTypes,
    datasetFileRoot: target.datasetFileRoot,
    dataSchema: dataSchemaOf(target),
    async dataDb(signal) {
      const db = await targetConnection(target.targetId, target.dataDb, directory, signal);
      const { host, port, user, password, schema, platform } = db;
      return { host, port, name: db.database, user, password, schema, platform };
    },
  };
}

/** Existing clients compare the tags' major and minor numbers. */
function buildManifest(): BuildManifest {
  return {
    gitTag: `v${VERSION}`,
    gitCommit: 'unknown',
    gitBranch: 'unknown',
    gitUrl: 'unknown',
    buildId: 'unknown',
    buildNumber: 'unknown',
    buildTime: 'unknown',
  };
}

// Resolves a Unix group by name or number.

const FILE = '/etc/group';

/** @param key of the configuration, for the message */
export async function groupNumber(key: string, group: string): Promise<number> {
  if (/^\d{1,9}$/.test(group)) return Number(group);
  for (const line of (await readFile(FILE, 'utf8')).split('\n')) {
    const [name, , id = ''] = line.split(':');
    if (name === group && /^\d+$/.test(id)) return Number(id);
  }
  throw new Failure('rejected', `${key}: there is no group '${group}' in ${FILE}; a numeric group id is also allowed`);
}
