// The configuration as the program uses it: checked, complete, read-only, in milliseconds and bytes. Each section is a
// slice that `bin` hands to the module that wants it.

import type { TargetId } from '../engine/model/ids.ts';
import type { DatasetType } from '../engine/model/metadata.ts';
import type { ServerAddress } from './address.ts';
import type { TargetDbFile, TlsOptions } from './schema/database.ts';
import type { InstallTargetFile } from './schema/install-targets.ts';
import type { InstallerFile } from './schema/installer.ts';
import type { PluginFile } from './schema/plugins.ts';
import type { RootFile } from './schema/root.ts';

interface DatabaseAccess {
  readonly username: string;
  readonly password: string;
  readonly poolSize: number;
  readonly schema: string;
  readonly idleTimeoutMs: number;
  readonly tls: boolean;
  readonly tlsOptions: TlsOptions;
}

/** A database of an install target: looked up in the directory, or given. */
export type DatabaseConnection = DatabaseAccess &
  (
    | { readonly kind: 'lookup'; readonly lookupCn: string }
    | { readonly kind: 'direct'; readonly server: ServerAddress; readonly name: string; readonly platform: 'Postgres' }
  );

/** An enabled install target. */
export interface InstallTargetConfiguration {
  readonly targetId: TargetId;
  readonly targetName: string;
  /** Replaces `{siteBuild}/{targetId}` below the install root. */
  readonly datasetFileRoot?: string;
  readonly dataTypes: 'any' | readonly DatasetType[];
  readonly controlDb: DatabaseConnection;
  readonly dataDb: DatabaseConnection;
  /** JSON Schema that compiles. */
  readonly metaValidation?: Readonly<Record<string, unknown>>;
  readonly projectCategory: InstallTargetFile['projectCategory'];
}

/** `token` is the plugin's own, or that of the plugin host. */
export type PluginConfiguration = PluginFile;

interface InstallerConfiguration extends Omit<InstallerFile, 'installTargets'> {
  /** The enabled ones. */
  readonly installTargets: readonly InstallTargetConfiguration[];
}

export interface Configuration extends Omit<RootFile, '$schema' | 'definitions' | 'installer'> {
  readonly installer: InstallerConfiguration;
}

/** The last step of loading: what the generic resolution cannot say. Sections that were not read stay away. */
export function finish(file: RootFile): Configuration {
  const { $schema: _schema, definitions: _definitions, installer, ...rest } = file;
  // With a selection of sections, any of them may be missing although the type of the whole file has it.
  const given: Partial<InstallerFile> | undefined = installer;
  if (!given) return rest as Configuration;
  const { plugins, installTargets, ...others } = given;
  const finished: Partial<InstallerConfiguration> = {
    ...others,
    ...(plugins ? { plugins: withTokens(plugins, file.pluginHost?.token) } : {}),
    ...(installTargets ? { installTargets: installTargets.flatMap(enabledTarget) } : {}),
  };
  return { ...rest, installer: finished as InstallerConfiguration };
}

function withTokens(
  plugins: InstallerFile['plugins'],
  token: string | undefined,
): Readonly<Record<string, PluginConfiguration>> {
  if (token === undefined) return plugins;
  return Object.fromEntries(Object.entries(plugins).map(([key, plugin]) => [key, { token, ...plugin }]));
}

function enabledTarget(target: InstallTargetFile): readonly InstallTargetConfiguration[] {
  const { enabled, targetId, targetName, controlDb, dataDb, ...rest } = target;
  if (!enabled || targetId === undefined) return [];
  // One that was left out on purpose (sections.ts) stays away although the type has it.
  const databases = {
    ...(controlDb && { controlDb: connection(controlDb) }),
    ...(dataDb && { dataDb: connection(dataDb) }),
  } as Pick<InstallTargetConfiguration, 'controlDb' | 'dataDb'>;
  return [{ ...rest, ...databases, targetId, targetName: targetName ?? targetId }];
}

function connection({ lookupCn, server, name, platform: _platform, ...access }: TargetDbFile): DatabaseConnection {
  return lookupCn === undefined
    ? { ...access, kind: 'direct', server: server ?? { host: '', port: 0 }, name: name ?? '', platform: 'Postgres' }
    : { ...access, kind: 'lookup', lookupCn };
}

// Which install targets share a data schema: their plugins write to one schema of one database, so a dataset's rows are
// there once for all of them (actors/dataset/shared-data.ts).

interface SharedDataSchema {
  readonly targets: readonly TargetId[];
  readonly schema: string;
  /** As the file names it: `host:port/name`, or the entry of the directory. */
  readonly database: string;
}

type Located = Pick<InstallTargetConfiguration, 'targetId' | 'dataDb'>;

/**
 * The same text for targets that share. Databases are compared as the file names them: one that is named by its address
 * here and by its directory entry there counts as two. Names of hosts and of directory entries are the same in any case.
 */
export const dataSchemaOf = (target: Pick<Located, 'dataDb'>): string =>
  `${target.dataDb.kind} ${databaseOf(target)} ${target.dataDb.schema}`;

/** Those of two targets and more, in the order of the file. */
export function sharedDataSchemas(targets: readonly Located[]): readonly SharedDataSchema[] {
  return [...Map.groupBy(targets, dataSchemaOf).values()].flatMap((group) => {
    const [first] = group;
    if (!first || group.length < 2) return [];
    const { schema } = first.dataDb;
    return [{ targets: group.map(({ targetId }) => targetId), schema, database: databaseOf(first) }];
  });
}

function databaseOf({ dataDb }: Pick<Located, 'dataDb'>): string {
  if (dataDb.kind === 'lookup') return dataDb.lookupCn.toLowerCase();
  const { host, port } = dataDb.server;
  return `${host.toLowerCase()}:${port}/${dataDb.name}`;
}
