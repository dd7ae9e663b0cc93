// The options of every client command, and the client they create: `--server URL --token T`, or `--data DIR` of a running
// `longshore up`, whose token key only its operator can read. Without either, LONGSHORE_SERVER names the server.

import type { Configuration } from '../../../config/configuration.ts';
import { dataDir, defaultDataPath, readEndpoints } from '../../compose/data-dir.ts';
import { type CommandIo, UsageError } from '../command.ts';
import { AdminClient } from './admin-client.ts';
import { InstallerClient } from './installer-client.ts';

export interface ClientValues {
  readonly server?: string | undefined;
  readonly token?: string | undefined;
  readonly data?: string | undefined;
  readonly user?: string | undefined;
}

/** The user for `--data` when `--user` is not given. */
const DEFAULT_USER = '1';

export async function openClient(values: ClientValues, io: Pick<CommandIo, 'env'>): Promise<InstallerClient> {
  const server = serverOf(values, io);
  if (server !== undefined) {
    const token = values.token ?? io.env.LONGSHORE_TOKEN;
    if (token === undefined) throw new UsageError('--server needs --token T (or the variable LONGSHORE_TOKEN)');
    return new InstallerClient({ server, token });
  }
  const dir = dataDir(values.data ?? defaultDataPath(process.getuid?.()));
  const { installer } = await readEndpoints(dir);
  const token = values.token ?? (await tokenOf(dir, values.user ?? DEFAULT_USER));
  return new InstallerClient({ server: installer, token });
}

/** Loaded on demand: commands of administrators need no issuer. */
async function tokenOf(dir: ReturnType<typeof dataDir>, user: string): Promise<string> {
  const { localToken } = await import('../local-token.ts');
  return localToken(dir, { user, guest: false });
}

/** The administrators' URL of a server that runs on this machine with this configuration. */
export function adminUrlOf({ http, ports }: Configuration['containerCore']): string {
  const { bindHost, port } = http.adminListener ?? { bindHost: http.bindHost, port: ports.installer };
  const host = ['0.0.0.0', '::'].includes(bindHost) ? '127.0.0.1' : bindHost;
  return `${http.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

interface AdminValues {
  readonly server?: string | undefined;
  readonly 'admin-token'?: string | undefined;
  readonly data?: string | undefined;
}

export async function openAdminClient(values: AdminValues, io: Pick<CommandIo, 'env'>): Promise<AdminClient> {
  const { server, adminToken } = await adminAccess(values, io);
  if (adminToken === undefined)
    throw new UsageError('--server needs --admin-token T (or the variable LONGSHORE_ADMIN_TOKEN)');
  return new AdminClient({ server, adminToken });
}

/** The server's URL, and the token if there is one: some commands do not need it. */
export async function adminAccess(
  values: AdminValues,
  io: Pick<CommandIo, 'env'>,
): Promise<{ readonly server: string; readonly adminToken: string | undefined }> {
  const server = serverOf(values, io);
  if (server !== undefined) {
    // Other users of the machine can read a command line, but not the environment.
    const adminToken = values['admin-token'] ?? io.env.LONGSHORE_ADMIN_TOKEN;
    return { server, adminToken };
  }
  const dir = dataDir(values.data ?? defaultDataPath(process.getuid?.()));
  const { installer, adminToken } = await readEndpoints(dir);
  return { server: installer, adminToken: values['admin-token'] ?? adminToken };
}

function serverOf(
  { server, data }: Pick<AdminValues, 'server' | 'data'>,
  { env }: Pick<CommandIo, 'env'>,
): string | undefined {
  // An empty variable counts as unset.
  const named = server ?? (data === undefined ? env.LONGSHORE_SERVER || undefined : undefined);
  return named?.replace(/\/+$/, '');
}
