// The data directory of `longshore up`: what lies where in it, and the rule that one `up` runs per directory.

import { once } from 'node:events';
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
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
  /** Port of the embedded PostgreSQL, chosen anew at each start; the configuration refers to it. */
  readonly postgresPort: string;
  readonly objects: string;
  /** What reports are made of, and the databases that were searched. */
  readonly queryJobs: string;
  readonly blastDb: string;
  readonly sites: string;
  readonly plugins: string;
  /** Mails of the dataset access service, when no mail server is configured. */
  readonly mail: string;
  /** The sample command of the handler service. */
  readonly handlerCommand: string;
  readonly scratch: string;
  readonly scripts: string;
  readonly log: string;
  /** Compiled sources of the scripts, so that each start of one is quick; ours alone, since it is run. */
  readonly compiled: string;
}

/** What `up` tells its clients in `endpoints.json`; base URLs without trailing slash. */
export interface Endpoints {
  readonly installer: string;
  /** Absent when the configuration has no handler section. */
  readonly handler?: string;
  /** Absent when the configuration has no report section. */
  readonly report?: string;
  /** Absent when the configuration has no access section. */
  readonly access?: string;
  /** Absent when the configuration hosts no plugin here. */
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
    postgresPort: at('postgres.port'),
    objects: at('objects'),
    queryJobs: at('query-jobs'),
    blastDb: at('blast'),
    sites: at('sites'),
    plugins: at('plugins'),
    handlerCommand: at('handler/copy-inputs'),
    mail: at('mail'),
    scratch: at('scratch'),
    scripts: at('scripts'),
    log: at('longshore.log'),
    compiled: at('compiled'),
  };
}

/**
 * Makes the directory when there is none and takes it for this process until disposed. As root, others may pass
 * through it (not list it): PostgreSQL runs as nobody below it. A second `up` on the same directory is refused.
 */
export async function takeDataDir(dir: DataDir): Promise<AsyncDisposable> {
  await mkdir(dir.path, { recursive: true, mode: 0o711 });
  if (process.getuid?.() === 0) await chmod(dir.path, 0o711);
  const { dev, ino } = await stat(dir.path);
  // A name in the kernel's own socket space goes away with its process, however that ends.
  const guard = createServer();
  guard.listen(`\0longshore-${dev}-${ino}`);
  try {
    await once(guard, 'listening');
  } catch (cause) {
    throw new Failure('rejected', `another 'longshore up' runs on ${dir.path}`, { cause });
  }
  guard.unref();
  return {
    async [Symbol.asyncDispose]() {
      guard.close();
      await once(guard, 'close');
    },
  };
}

/** Writes a file whole or not at all. */
export async function writeWhole(path: string, content: string, mode: number): Promise<void> {
  const partial = `${path}.partial-${process.pid}`;
  await writeFile(partial, content, { mode });
  await rename(partial, path);
}

/** The endpoints of the running `up`, or a failure that says how to start one. */
export async function readEndpoints(dir: DataDir): Promise<Endpoints> {
  try {
    return JSON.parse(await readFile(dir.endpoints, 'utf8')) as Endpoints;
  } catch (cause) {
    throw new Failure('transient', `no 'longshore up' runs on ${dir.path}: ${dir.endpoints} cannot be read`, {
      cause,
      unreachable: true,
    });
  }
}

export async function removeEndpoints(dir: DataDir): Promise<void> {
  await rm(dir.endpoints, { force: true });
}
