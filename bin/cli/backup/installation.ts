// Backup and restore of an installation of `longshore serve`, from its configuration: finds what it has, and whether it runs.

import type { Configuration } from '../../../config/configuration.ts';
import { findTool, type PostgresTool } from '../../../engine/adapters/postgres/postgres-tools.ts';
import { rejected } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { openDirectory } from '../../compose/databases.ts';
import { type NamedDatabase, namedDatabases } from '../../compose/named-databases.ts';
import { AdminClient } from '../client/admin-client.ts';
import { adminUrlOf } from '../client/client-options.ts';
import { type CommandIo, UsageError } from '../command.ts';
import { loadConfig } from '../load-config.ts';
import type { MadeBackup } from './back-up.ts';
import { backUpServed } from './back-up-served.ts';
import { demandServed } from './backup-head.ts';
import { placeDatabases, placeFolders, type RestoredInstallation, restoreServed } from './restore-served.ts';
import { aliveProcesses } from './restored-database.ts';
import { type FoundDatabase, findDatabases, findFolders, keptElsewhere, namedFolders } from './served-parts.ts';
import { readHead } from './unpacking.ts';

interface InstallationValues {
  readonly data?: string | undefined;
  readonly 'postgres-bin'?: string | undefined;
}

interface InstallationOrder {
  /** The backup. */
  readonly file: string;
  /** The configuration file. */
  readonly config: string;
  readonly tell: (bytes: number) => void;
}

export async function backUpInstallation(
  {
    file,
    config,
    timeoutMs,
    tell,
    values,
  }: InstallationOrder & {
    /** How long to wait for jobs that run. */
    readonly timeoutMs: number;
    readonly values: InstallationValues;
  },
  io: CommandIo,
): Promise<{ readonly made: MadeBackup; readonly outside: readonly string[] }> {
  const { configuration, named } = await load(config, values, io);
  const found = await findDatabases(named, true, io.signal);
  const cache = demandCache(found);
  const databases = await Promise.all(
    found.map(async (one) => ({ ...one, tool: await toolFor('pg_dump', one.server, one, values, io) })),
  );
  const { saved: folders, missing } = await findFolders(namedFolders(configuration));
  const outside = keptElsewhere(configuration, missing);
  const isRunning = (await aliveProcesses(cache, io.signal)) > 0;
  const made = await backUpServed(
    {
      ...{ target: file, configuration: config, databases, folders, outside, tell, clock: systemClock },
      server: isRunning ? { client: clientOf(configuration), timeoutMs } : undefined,
      demandStopped: () => demandStopped(cache, 'no backup was made', io.signal),
    },
    io.signal,
  );
  return { made, outside };
}

export interface InstallationRestored extends RestoredInstallation {
  /** Their control schemas may have to be migrated. */
  readonly targets: readonly string[];
}

export async function restoreInstallation(
  {
    file,
    config,
    tell,
    values,
  }: InstallationOrder & {
    readonly values: InstallationValues & { readonly force: boolean };
  },
  io: CommandIo,
): Promise<InstallationRestored> {
  const head = await readHead(file, io.signal);
  demandServed(file, head);
  const { configuration, named } = await load(config, values, io);
  const found = await findDatabases(named, false, io.signal);
  await demandStopped(demandCache(found), 'nothing was restored', io.signal);
  const databases = await Promise.all(
    placeDatabases(file, head, found).map(async (one) => {
      const atLeast = Math.max(one.server, one.dumpedBy);
      return { ...one, tool: await toolFor('pg_restore', atLeast, one, values, io) };
    }),
  );
  const folders = placeFolders(file, head, namedFolders(configuration));
  const order = { file, databases, folders, force: values.force, tell, clock: systemClock };
  const restored = await restoreServed(order, io.signal);
  return { ...restored, targets: configuration.installer.installTargets.map(({ targetId }) => targetId) };
}

async function load(
  config: string,
  { data }: InstallationValues,
  io: CommandIo,
): Promise<{ readonly configuration: Configuration; readonly named: readonly NamedDatabase[] }> {
  if (data !== undefined) throw new UsageError('--config and --data exclude each other');
  const configuration = await loadConfig(config, io);
  const directory = await openDirectory(configuration.installer.ldap, silentLogger());
  return { configuration, named: namedDatabases(configuration, directory) };
}

/** It comes first. */
function demandCache([first]: readonly FoundDatabase[]): FoundDatabase {
  if (first?.uses.some(({ name }) => name === 'cache database')) return first;
  throw rejected('the cache database is empty: there is nothing to back up');
}

function toolFor(
  name: PostgresTool['name'],
  atLeast: number,
  { uses, server }: Pick<FoundDatabase, 'uses' | 'server'>,
  values: InstallationValues,
  { env }: CommandIo,
): Promise<PostgresTool> {
  const because =
    atLeast === server
      ? `the server of the ${uses[0]?.name} is version ${server}`
      : `the ${uses[0]?.name} was dumped by pg_dump of version ${atLeast}`;
  return findTool(name, { binDir: values['postgres-bin'], path: env.PATH, atLeast, because });
}

function clientOf({ containerCore }: Configuration): AdminClient {
  const adminToken = containerCore.authentication?.adminToken;
  if (adminToken === undefined)
    throw rejected(
      'containerCore.authentication.adminToken: missing, but the lanes of a running server have to be paused',
    );
  return new AdminClient({ server: adminUrlOf(containerCore), adminToken });
}

async function demandStopped(cache: FoundDatabase, outcome: string, signal: AbortSignal): Promise<void> {
  const alive = await aliveProcesses(cache, signal);
  if (alive === 0) return;
  const which = alive === 1 ? 'a process of longshore is' : `${alive} processes of longshore are`;
  throw rejected(`${outcome}: ${which} connected to the cache database; stop them first`);
}
