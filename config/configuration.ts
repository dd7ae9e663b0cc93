// The configuration as the program uses it: checked, complete, read-only, in milliseconds and bytes. `bin` hands each module
// the section that it needs.

import type { TargetId } from '../engine/model/ids.ts';
import type { DatasetType } from '../engine/model/metadata.ts';
import type { ServerAddress } from './address.ts';
import { type Platform, platformOf, type TargetDbFile, type TlsOptions } from './schema/database.ts';
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

/** A database of an install target: looked up in the directory, or given in the file. */
export type DatabaseConnection = DatabaseAccess &
  (
    | { readonly kind: 'lookup'; readonly lookupCn: string }
    | { readonly kind: 'direct'; readonly server: ServerAddress; readonly name: string; readonly platform: Platform }
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

/** `token` is the plugin's own token, or that of the plugin host. */
export type PluginConfiguration = PluginFile;

interface InstallerConfiguration extends Omit<InstallerFile, 'installTargets'> {
  /** Only enabled targets. */
  readonly installTargets: readonly InstallTargetConfiguration[];
}

export interface Configuration extends Omit<RootFile, '$schema' | 'definitions' | 'installer'> {
  readonly installer: InstallerConfiguration;
}

/** The last step of loading: conversions that the schema cannot express. Sections that were not read stay absent. */
export function finish(file: RootFile): Configuration {
  const { $schema: _schema, definitions: _definitions, installer, ...rest } = file;
  // If only some sections were read, the others are missing although the type has them.
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
  // A database that was not read (sections.ts) stays absent although the type has it.
  const databases = {
    ...(controlDb && { controlDb: connection(controlDb) }),
    ...(dataDb && { dataDb: connection(dataDb) }),
  } as Pick<InstallTargetConfiguration, 'controlDb' | 'dataDb'>;
  return [{ ...rest, ...databases, targetId, targetName: targetName ?? targetId }];
}

function connection({ lookupCn, server, name, platform, ...access }: TargetDbFile): DatabaseConnection {
  if (lookupCn !== undefined) return { ...access, kind: 'lookup', lookupCn };
  const at = { server: server ?? { host: '', port: 0 }, name: name ?? '' };
  return { ...access, kind: 'direct', ...at, platform: platformOf(platform) ?? 'Postgres' };
}

/** Entries of a directory name only PostgreSQL databases. */
export const platformAt = (db: DatabaseConnection): Platform => (db.kind === 'direct' ? db.platform : 'Postgres');

/**
 * Install targets whose plugins write to one schema of one database: a dataset's rows are there once for all of them
 * (actors/dataset/shared-data.ts).
 */
interface SharedDataSchema {
  readonly targets: readonly TargetId[];
  readonly schema: string;
  /** As the file names it: `host:port/name`, on MariaDB `host:port`, or the directory entry. */
  readonly database: string;
}

type Located = Pick<InstallTargetConfiguration, 'targetId' | 'dataDb'>;

/**
 * Targets that share a data schema have the same text. Databases are compared as the file names them: a database that is named
 * once by its address and once by its directory entry counts as two. Host names and directory entries ignore case.
 */
export const dataSchemaOf = (target: Pick<Located, 'dataDb'>): string =>
  `${target.dataDb.kind} ${databaseOf(target)} ${target.dataDb.schema}`;

/** Only schemas with at least two targets, in the order of the file. */
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
  const server = `${host.toLowerCase()}:${port}`;
  // There, the schema is a database of its own, whichever one connections begin with.
  return dataDb.platform === 'MariaDB' ? server : `${server}/${dataDb.name}`;
}
