// What of the data directory of `longshore up` goes into a backup, and what it names that is elsewhere.

import { join, sep } from 'node:path';
import type { Configuration } from '../../../config/configuration.ts';
import { isLeftOutOfBackup } from '../../../engine/adapters/embedded-postgres/base-backup.ts';
import { type DataDir, RESTORING } from '../../compose/data-dir.ts';
import { addressOf } from '../../compose/databases.ts';

/** The folder of the embedded PostgreSQL's data. */
export const POSTGRES = 'postgres';
/** The folder of all objects. */
export const OBJECTS = 'objects/objects';
/** Links to all objects at the instant of a backup. On the same file system, so beside them. */
export const SNAPSHOT = 'objects/backup-snapshot';
export const BEFORE_RESTORE = 'before-restore-';

const LEFT_OUT = new Set([
  ...['endpoints.json', 'postgres.port', 'longshore.log', 'postgres.log'],
  // The program makes them anew.
  ...['pg', 'compiled', 'sample-calls'],
  // Work in progress, which is repeated.
  ...['objects/staging', SNAPSHOT, 'scratch/jobs', 'scratch/plugins/work', RESTORING],
]);

/** Paths in the data directory that are never copied, with their content. */
export const isLeftOut = (path: string): boolean =>
  LEFT_OUT.has(path) ||
  path.startsWith(BEFORE_RESTORE) ||
  // Records of processes, which are none of ours after a restore.
  /^scratch\/[^/]+\/running\/./.test(path) ||
  (!path.includes('/') && /^\.pwfile-|\.partial-\d+$/.test(path));

/** The same for a server that is stopped, whose files are a state of their own. */
export const isLeftOutStopped = (path: string): boolean =>
  isLeftOut(path) || path === `${POSTGRES}/postmaster.pid` || path === `${POSTGRES}/postmaster.opts`;

/** The same for a server that runs. */
export const isLeftOutRunning = (path: string): boolean =>
  isLeftOut(path) || (path.startsWith(`${POSTGRES}/`) && isLeftOutOfBackup(path.slice(POSTGRES.length + 1)));

/** Databases that a directory locates are not on the embedded server. */
const LOOKED_UP = 'looked up' as const;

/** Places that the configuration names outside of the data directory: they are not in its backup. */
export function placesOutside(
  dir: DataDir,
  { installer, handler, report, access, pluginHost }: Configuration,
  embeddedPort: number,
): readonly string[] {
  const isOutside = (path: string | undefined): path is string =>
    path !== undefined && !join(path, sep).startsWith(join(dir.path, sep));
  const { objectStore, installTargets, plugins, cacheDb } = installer;
  const folders = [
    { role: 'the object store', path: objectStore.driver === 'directory' ? objectStore.path : undefined },
    { role: 'handler jobs', path: handler?.workspace },
    { role: 'the plugin host', path: pluginHost?.workspace },
    { role: 'searches of reports', path: report?.queryJobs.root },
    { role: 'BLAST databases', path: report?.blastDb },
    ...Object.entries(plugins).map(([key, { installRoot }]) => ({ role: `files of plugin ${key}`, path: installRoot })),
  ];
  type Server = { readonly host: string; readonly port: number };
  const isHere = ({ host, port }: Server): boolean => host === '127.0.0.1' && port === embeddedPort;
  const databases: readonly { readonly role: string; readonly at: Server | typeof LOOKED_UP | undefined }[] = [
    { role: 'the cache database', at: cacheDb.server },
    { role: 'the database of reports', at: report?.db?.server },
    { role: 'the database of dataset access', at: access?.db?.server },
    ...installTargets.flatMap((target) => [
      { role: `the control database of ${target.targetId}`, at: addressOf(target.controlDb) ?? LOOKED_UP },
      { role: `the data database of ${target.targetId}`, at: addressOf(target.dataDb) ?? LOOKED_UP },
    ]),
  ];
  return [
    ...(objectStore.driver === 's3' ? ['the object store: a bucket'] : []),
    ...folders.flatMap(({ role, path }) => (isOutside(path) ? [`${role}: ${path}`] : [])),
    ...databases.flatMap(({ role, at }) =>
      at !== undefined && (at === LOOKED_UP || !isHere(at)) ? [`${role}: another server`] : [],
    ),
  ];
}
