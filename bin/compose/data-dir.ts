// The data directory of `longshore up`: its layout, and the rule that only one `up` runs per directory.

import { once } from 'node:events';
import { chmod, mkdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { Failure } from '../../engine/runtime/failure.ts';

export interface DataDir {
  readonly path: string;
  readonly config: string;
  readonly endpoints: string;
  readonly tokenKey: string;
  readonly tokenPublicKey: string;
  /** When people signed out everywhere. */
  readonly signOuts: string;
  /** Port of the embedded PostgreSQL, chosen at each start; the configuration refers to it. */
  readonly postgresPort: string;
  /** Of the superuser of the embedded PostgreSQL; only this program uses it. */
  readonly postgresPassword: string;
  readonly objects: string;
  /** Input of reports, and the databases that were searched. */
  readonly queryJobs: string;
  readonly blastDb: string;
  readonly sites: string;
  readonly plugins: string;
  /** Where launchers of the sample plugins find the process that runs their scripts. */
  readonly sampleCalls: string;
  /** Mails of the dataset access service when no mail server is configured. */
  readonly mail: string;
  /** The sample command of the handler service. */
  readonly handlerCommand: string;
  readonly scratch: string;
  readonly scripts: string;
  readonly log: string;
  /** Of the embedded PostgreSQL. */
  readonly postgresLog: string;
  /** Compile cache of the scripts, so that each start is fast. Only the owner can write it, because it is executed. */
  readonly compiled: string;
}

/** The folder of files that `longshore restore` has not moved to their places yet. While it exists, the directory is incomplete. */
export const RESTORING = 'restore-partial';

/** The contents of `endpoints.json`, for clients of `up`; base URLs without trailing slash. */
export interface Endpoints {
  readonly installer: string;
  /** Undefined when the configuration has no handler section. */
  readonly handler?: string;
  /** Undefined when the configuration has no report section. */
  readonly report?: string;
  /** Undefined when the configuration has no access section. */
  readonly access?: string;
  /** Undefined when the configuration hosts no plugin in this process. */
  readonly pluginHost?: string;
  readonly adminToken: string;
  readonly pid: number;
}

export function defaultDataPath(uid: number | undefined): string {
  return uid === 0 ? '/var/lib/longshore' : join(homedir(), '.local', 'state', 'longshore');
}

export function dataDir(path: string): DataDir {
  const root = resolve(path);
  const at = (name: string): string => join(root, name);
  return {
    path: root,
    config: at('config.yaml'),
    endpoints: at('endpoints.json'),
    tokenKey: at('token-key.pem'),
    tokenPublicKey: at('token-key.pub.pem'),
    signOuts: at('sign-outs.json'),
    postgresPort: at('postgres.port'),
    postgresPassword: at('postgres.password'),
    objects: at('objects'),
    queryJobs: at('query-jobs'),
    blastDb: at('blast'),
    sites: at('sites'),
    plugins: at('plugins'),
    sampleCalls: at('sample-calls'),
    handlerCommand: at('handler/copy-inputs'),
    mail: at('mail'),
    scratch: at('scratch'),
    scripts: at('scripts'),
    log: at('longshore.log'),
    postgresLog: at('postgres.log'),
    compiled: at('compiled'),
  };
}

/**
 * Creates the directory if necessary and locks it for this process until disposed. As root, others may traverse it (not list
 * it), because PostgreSQL runs below it as nobody. A second `up` on the same directory fails, and so does a second backup.
 */
export async function takeDataDir(dir: DataDir, use: 'up' | 'backup' = 'up'): Promise<AsyncDisposable> {
  await mkdir(dir.path, { recursive: true, mode: 0o711 });
  if (process.getuid?.() === 0) await chmod(dir.path, 0o711);
  const { dev, ino } = await stat(dir.path);
  // An abstract socket name disappears with its process, however it ends.
  const guard = createServer();
  guard.listen(`\0longshore-${use === 'up' ? '' : `${use}-`}${dev}-${ino}`);
  try {
    await once(guard, 'listening');
  } catch (cause) {
    throw new Failure('rejected', `another 'longshore ${use}' is running on ${dir.path}`, { cause });
  }
  guard.unref();
  return {
    async [Symbol.asyncDispose]() {
      guard.close();
      await once(guard, 'close');
    },
  };
}

/** The endpoints of the running `up`, or a failure that says how to start one. */
export async function readEndpoints(dir: DataDir): Promise<Endpoints> {
  try {
    return JSON.parse(await readFile(dir.endpoints, 'utf8')) as Endpoints;
  } catch (cause) {
    throw new Failure('transient', `no 'longshore up' is running on ${dir.path}: ${dir.endpoints} cannot be read`, {
      cause,
      unreachable: true,
    });
  }
}

export async function removeEndpoints(dir: DataDir): Promise<void> {
  await rm(dir.endpoints, { force: true });
}
