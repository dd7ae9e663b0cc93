// All checks for the dependencies that a configuration names.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandEnvironment } from '../../../actors/handler/commands.ts';
import { FORMATTER } from '../../../actors/report/formatter.ts';
import type { Configuration } from '../../../config/configuration.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { MAX_UPLOAD_BYTES } from '../../../http/handler/upload-body.ts';
import { smtpOptions } from '../../compose/access-mail.ts';
import { openDirectory } from '../../compose/databases.ts';
import { kafkaSettings, rabbitOptions } from '../../compose/event-log.ts';
import { SCRIPT_PATHS } from '../../compose/plugin-host.ts';
import { kafkaCheck, rabbitCheck } from './broker-checks.ts';
import type { Check } from './check.ts';
import { databaseChecks } from './database-checks.ts';
import { type FolderOptions, folderCheck, machineCheck, type Program, programsCheck } from './machine-check.ts';
import { objectStoreCheck } from './object-store-check.ts';
import { directoryCheck, explainEntry, keySetCheck, mailCheck, pluginCheck } from './server-checks.ts';

interface ChecksParts {
  /** Path of the configuration, for suggested commands. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** File descriptors for the process itself, its threads and its scripts. */
const OWN_FILES = 256;

export async function checksOf(configuration: Configuration, parts: ChecksParts): Promise<readonly Check[]> {
  const { installer, mail, containerCore } = configuration;
  const { file, clock } = parts;
  const directory = await openDirectory(installer.ldap, silentLogger());
  const jwksUrl = containerCore.authentication?.oauth?.jwksUrl;
  return [
    ...(await databaseChecks(configuration, { directory, explainEntry: explainEntry(installer.ldap), file, clock })),
    ...(installer.ldap && directory ? [directoryCheck(installer.ldap, directory)] : []),
    objectStoreCheck(installer),
    ...brokerChecks(installer, clock),
    ...pluginChecks(configuration, file),
    ...handlerChecks(configuration, parts.env),
    ...reportChecks(configuration, parts.env),
    ...(mail ? [mailCheck(mail, smtpOptions(mail))] : []),
    ...(jwksUrl === undefined ? [] : [keySetCheck(jwksUrl)]),
    ...folders(configuration).map(folderCheck),
    machineCheck({ wantedFiles: wantedFiles(configuration) }),
  ];
}

function brokerChecks(installer: Configuration['installer'], clock: Clock): readonly Check[] {
  const { logBroker, queueBroker, lanes, daemons } = installer;
  const topics = Object.values(lanes).flatMap((lane) => ('eventChannel' in lane ? [lane.eventChannel] : []));
  return [
    ...(logBroker.driver === 'kafka'
      ? [kafkaCheck(kafkaSettings(logBroker, daemons.eventRouter.brokerProducerId), [...new Set(topics)], clock)]
      : []),
    ...(queueBroker.driver === 'rabbitmq' ? [rabbitCheck(rabbitOptions(queueBroker.global), clock)] : []),
  ];
}

/** A plugin that the service hosts itself has no server to check before it runs, so its scripts are checked. */
function pluginChecks({ installer, pluginHost }: Configuration, file: string): readonly Check[] {
  const hosted = new Set(pluginHost?.inProcess);
  return Object.entries(installer.plugins).map(([key, plugin]) => {
    if (!hosted.has(key)) return pluginCheck(key, plugin, file);
    const programs = (Object.keys(SCRIPT_PATHS) as (keyof typeof SCRIPT_PATHS)[]).map(
      (name): Program => ({
        name,
        program: plugin.scripts[name].pathOverride ?? SCRIPT_PATHS[name],
        key: `installer.plugins.${key}.scripts.${name}.pathOverride`,
      }),
    );
    return programsCheck({ name: `plugin ${key}`, where: 'in this process', programs, path: '' });
  });
}

function handlerChecks({ handler }: Configuration, env: ChecksParts['env']): readonly Check[] {
  if (!handler) return [];
  const programs = handler.commands.map(({ command }, index) => ({
    name: `command ${index + 1}`,
    program: command,
    key: `handler.commands[${index}].command`,
  }));
  const path = commandEnvironment(env, handler.passEnvironment).PATH ?? '';
  return [programsCheck({ name: 'handler commands', where: 'this machine', programs, path })];
}

/** Only reports need the formatter. If it is searched on the PATH, its absence may be intended. */
function reportChecks({ report }: Configuration, env: ChecksParts['env']): readonly Check[] {
  if (!report) return [];
  const { blastBin } = report;
  const program = blastBin === undefined ? FORMATTER : join(blastBin, FORMATTER);
  const programs = [{ name: 'reports', program, key: 'report.blastBin' }];
  const optional = blastBin === undefined;
  return [programsCheck({ name: 'BLAST+', where: 'this machine', programs, path: env.PATH ?? '', optional })];
}

function folders({ installer, pluginHost, handler, report }: Configuration): readonly FolderOptions[] {
  const { maxUploadSize } = installer.restService;
  const roots = new Map(
    (pluginHost?.inProcess ?? []).flatMap((key) => {
      const plugin = installer.plugins[key];
      return plugin ? [[plugin.installRoot, `installer.plugins.${key}.installRoot`] as const] : [];
    }),
  );
  const handlerBytes = handler ? MAX_UPLOAD_BYTES + handler.maxUnpackedSize : 0;
  const workspace = (name: string, path: string | undefined, key: string, wantedBytes: number): FolderOptions[] =>
    path === undefined ? [] : [{ name, path, key, made: true, wantedBytes }];
  return [
    { name: 'scratch folder', path: tmpdir(), key: 'TMPDIR', made: false, wantedBytes: 2 * maxUploadSize },
    ...workspace('plugin workspace', pluginHost?.workspace, 'pluginHost.workspace', 2 * maxUploadSize),
    ...workspace('handler workspace', handler?.workspace, 'handler.workspace', handlerBytes),
    ...workspace('query jobs', report?.queryJobs.root, 'report.queryJobs.root', 1),
    ...[...roots].map(([path, key]) => ({
      ...{ name: 'install root', path, key },
      ...{ made: false, wantedBytes: maxUploadSize },
    })),
  ];
}

function wantedFiles({ containerCore, installer, handler, report, access, pluginHost }: Configuration): number {
  const listeners = 1 + [handler, report, access, pluginHost?.inProcess.length].filter(Boolean).length;
  const pools = [
    installer.cacheDb,
    report?.db,
    access?.db,
    ...installer.installTargets.map(({ controlDb }) => controlDb),
  ];
  const connections = pools.reduce((sum, pool) => sum + (pool?.poolSize ?? 0), 0);
  return listeners * containerCore.http.limits.maxConnections + connections + OWN_FILES;
}
