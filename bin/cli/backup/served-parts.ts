// What an installation of `longshore serve` has on this machine and in its databases, and what is elsewhere.

import { stat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import type { Configuration } from '../../../config/configuration.ts';
import type { PostgresOptions, Sql } from '../../../engine/adapters/postgres/postgres.ts';
import { withConnection } from '../../../engine/adapters/postgres/single-connection.ts';
import { rejected } from '../../../engine/runtime/failure.ts';
import type { NamedDatabase } from '../../compose/named-databases.ts';
import { LOOPBACK } from '../../compose/plugin-host.ts';
import { hostPort } from '../doctor/check.ts';
import type { SavedDatabase, SavedFolder } from './backup-head.ts';

/** In the folder of a directory store: all objects; links to them at the instant of a backup. */
export const STORE = { objects: 'objects', snapshot: 'backup-snapshot', staging: 'staging' } as const;
export const STORE_KEY = 'installer.objectStore.path';

interface NamedFolder {
  /** Path of its setting in the configuration, and for some the target. */
  readonly key: string;
  /** For people. */
  readonly role: string;
  readonly path: string;
}

/** The folders that a configuration names, whether they exist here or not. The object store comes first. */
export function namedFolders({ installer, report, handler }: Configuration): readonly NamedFolder[] {
  const { objectStore, plugins, installTargets, siteBuild } = installer;
  const folder = (key: string, role: string, path: string | undefined): readonly NamedFolder[] =>
    path === undefined ? [] : [{ key, role, path: resolve(path) }];
  return [
    ...(objectStore.driver === 'directory' ? folder(STORE_KEY, 'the object store', objectStore.path) : []),
    ...Object.entries(plugins).flatMap(([name, { installRoot }]) => {
      const key = `installer.plugins.${name}.installRoot`;
      const ofTargets = installTargets.flatMap(({ targetId, datasetFileRoot }) =>
        datasetFileRoot === undefined
          ? []
          : folder(`${key} ${targetId}`, `files of plugin ${name} on ${targetId}`, join(installRoot, datasetFileRoot)),
      );
      const isShared = ofTargets.length < installTargets.length;
      const ofBuild = isShared ? folder(key, `files of plugin ${name}`, join(installRoot, siteBuild)) : [];
      return [...ofBuild, ...ofTargets];
    }),
    ...folder('report.queryJobs.root', 'searches of reports', report?.queryJobs.root),
    ...folder('handler.workspace', 'handler jobs', handler?.workspace),
  ];
}

export interface FoundFolders {
  readonly saved: readonly SavedFolder[];
  /** Not on this machine. */
  readonly missing: readonly NamedFolder[];
}

/** Each tree once: a folder in another one is saved with that. */
export async function findFolders(named: readonly NamedFolder[]): Promise<FoundFolders> {
  const missing: NamedFolder[] = [];
  const saved = new Map<string, NamedFolder[]>();
  for (const folder of named) {
    const isThere = await stat(folder.path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isThere) missing.push(folder);
    else saved.set(folder.path, [...(saved.get(folder.path) ?? []), folder]);
  }
  const isInAnother = (path: string): boolean =>
    [...saved.keys()].some((other) => other !== path && path.startsWith(join(other, sep)));
  const store = named.find(({ key }) => key === STORE_KEY);
  if (store && isInAnother(store.path))
    throw rejected(
      `the object store ${store.path} is in another folder of the configuration: it has to be beside them`,
    );
  const outer = [...saved].filter(([path]) => !isInAnother(path));
  return {
    saved: outer.map(([path, uses], n) => ({ folder: `folders/${n + 1}`, path, keys: uses.map(({ key }) => key) })),
    missing,
  };
}

/** Paths in a saved folder that are not copied: work in progress, which is repeated, and what only this process has. */
export const isLeftOutOfFolder = ({ keys }: SavedFolder, path: string): boolean =>
  (keys.includes(STORE_KEY) && Object.values<string>(STORE).includes(path)) ||
  path.startsWith('before-restore-') ||
  path === 'restore-partial' ||
  (keys.includes('handler.workspace') && /^running\/./.test(path));

/** A database that the configuration names, for one role. */
export interface FoundDatabase {
  readonly uses: SavedDatabase['uses'];
  readonly options: PostgresOptions;
  /** Major version of the server. */
  readonly server: number;
}

/**
 * One for each PostgreSQL database and role. A schema that several roles use belongs to the first.
 * @param onlyThere leave out what has no schema yet
 */
export async function findDatabases(
  named: readonly NamedDatabase[],
  onlyThere: boolean,
  signal: AbortSignal,
): Promise<readonly FoundDatabase[]> {
  const known = new Set<string>();
  const found: FoundDatabase[] = [];
  const dumped = named.filter(({ platform }) => platform === 'Postgres');
  for (const [first, ...others] of Map.groupBy(dumped, ({ same }) => same).values()) {
    if (!first) continue;
    const options = await first.locate(signal);
    const place = `${hostPort(options)}/${options.database}`.toLowerCase();
    const isNew = ({ schema }: NamedDatabase): boolean => {
      const before = known.size;
      return known.add(`${place} ${schema}`).size > before;
    };
    const wanted = [first, ...others].filter(isNew);
    const { server, schemas } = await withConnection(options, (sql) => lookInto(sql, wanted), signal);
    const uses = wanted.filter(({ schema }) => !onlyThere || schemas.includes(schema));
    if (uses.length > 0) found.push({ uses: uses.map(({ name, schema }) => ({ name, schema })), server, options });
  }
  return found;
}

async function lookInto(
  sql: Sql,
  wanted: readonly NamedDatabase[],
): Promise<{ readonly server: number; readonly schemas: readonly string[] }> {
  const [row] = await sql.query<{ server: number; schemas: string[] }>(
    `select current_setting('server_version_num')::integer / 10000 as server,
       array(select nspname::text from pg_namespace where nspname = any($1::text[])) as schemas`,
    [wanted.map(({ schema }) => schema)],
  );
  if (!row) throw new Error('a select without a table returned no row');
  return row;
}

/** What somebody else has to keep, with what to do. The instant of the backup is in its manifest. */
export function keptElsewhere(configuration: Configuration, missing: FoundFolders['missing']): readonly string[] {
  const { installer, report } = configuration;
  const { objectStore, ldap, logBroker, queueBroker, plugins } = installer;
  const brokers = [logBroker, queueBroker].map(({ driver }) => driver).filter((driver) => driver !== 'postgres');
  // A folder of this machine that does not exist has nothing in it.
  const files = missing.flatMap(({ role, path, key }) => {
    const host = plugins[/^installer\.plugins\.(.+)\.installRoot/.exec(key)?.[1] ?? '']?.server;
    return host === undefined || LOOPBACK.includes(host.host)
      ? []
      : [
          `${role}: ${path} on the machine of ${hostPort(host)}; copy it there, or have the datasets of the plugin installed again`,
        ];
  });
  return [
    ...(objectStore.driver === 's3'
      ? [
          `the object store: bucket ${objectStore.bucketName} at ${hostPort(objectStore.server)}. Turn on versioning of the bucket, or ` +
            'replicate it. With this backup belong the versions of its instant or later ones, never earlier ones: objects that are ' +
            'missing count as removed datasets',
        ]
      : []),
    ...files,
    ...mariaDbElsewhere(installer.installTargets),
    ...(report?.blastDb === undefined ? [] : [`BLAST databases: ${report.blastDb}; copy them, or make them again`]),
    ...(ldap ? [`the directory: ${ldap.servers.map(hostPort).join(', ')}; its administrators keep it`] : []),
    ...(brokers.length > 0
      ? [
          `messages of ${[...new Set(brokers)].join(' and ')}: not needed; a full run of the reconciler finds what they announced`,
        ]
      : []),
    'roles of the databases, and schemas that the configuration does not name: their administrators keep them',
    'files that the configuration names (certificates, keys, scripts), and the environment that it takes values from',
  ];
}

/** Databases of targets that are not dumped. */
export const mariaDbElsewhere = (targets: Configuration['installer']['installTargets']): readonly string[] =>
  targets.flatMap(({ targetId, controlDb, dataDb }) =>
    Object.entries({ control: controlDb, data: dataDb }).flatMap(([what, db]) =>
      db.kind === 'direct' && db.platform === 'MariaDB'
        ? [
            `the ${what} database of ${targetId}: ${db.schema} on MariaDB at ${hostPort(db.server)}; keep it with mariadb-dump ` +
              '--single-transaction. After a restore, a full run of the reconciler brings it to the state of the object store',
          ]
        : [],
    ),
  );
