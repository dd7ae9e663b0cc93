// `longshore up` of this checkout or of another one, with short scripts of /bin/sh in place of a sample plugin's, or with the
// sample plugin as it is.

import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { parse, stringify } from 'yaml';
import { localToken } from '../../bin/cli/local-token.ts';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { CACHE_SCHEMA } from '../../bin/compose/databases.ts';
import { RUNTIME_OPTIONS } from '../../engine/runtime/program-files.ts';
import { freePortBase } from '../support/longshore.ts';
import { processTree } from './processes.ts';
import { emptyDir, FROM_SOURCE, type ProgramArgv, StartedUp } from './started-up.ts';
import { FILE, Subject, TYPE, USERS } from './subject.ts';

const OUTPUT = 'formatted_gene_list.txt';

/** Each checks what it was given. The small ones write; those for large files only link, so that only our bytes count. */
export const SCRIPTS = {
  small: {
    dataCleaning: `read gene <"$1/${FILE}" && echo "$gene" >"$2/${OUTPUT}"`,
    dataInstall: `read gene <"$2/${OUTPUT}" && mkdir "$DATA_FILES" && echo "$gene" >"$DATA_FILES/${OUTPUT}"`,
    metaUpdate: '[ -s "$2" ]',
  },
  large: {
    dataCleaning: `ln "$1/${FILE}" "$2/${OUTPUT}"`,
    dataInstall: `[ -s "$2/${OUTPUT}" ] && mkdir "$DATA_FILES"`,
    metaUpdate: '[ -s "$2" ]',
  },
} as const;
export type ScriptKey = keyof (typeof SCRIPTS)['small'];
export type ScriptPaths = Readonly<Record<ScriptKey, string>>;

interface Config {
  installer: {
    cacheDb: { name: string; username: string; password: string };
    plugins: Record<string, { scripts: Record<string, { pathOverride: string }> }>;
    installTargets: Target[];
    restService?: object;
  };
}
interface Target {
  readonly targetId: string;
  readonly controlDb: Readonly<Record<string, unknown>>;
  readonly dataDb: Readonly<Record<string, unknown>>;
}

export interface ProductOptions {
  /** `samples`: those of the sample plugin. */
  readonly scripts?: keyof typeof SCRIPTS | 'samples';
  /** How many install targets; default the two that `up` comes with. */
  readonly targets?: number;
  /** Another checkout of the program. */
  readonly checkout?: string | undefined;
  /** Has PostgreSQL count statements. */
  readonly counted?: boolean;
}

export const ofCheckout = (dir: string | undefined): ProgramArgv =>
  dir === undefined ? FROM_SOURCE : [process.execPath, ...RUNTIME_OPTIONS, join(dir, 'bin', 'longshore.ts')];

/** Loads a library into the server of a data directory that is not running. */
export const countStatements = (dir: string): Promise<void> =>
  appendFile(join(dir, 'postgres', 'postgresql.auto.conf'), `shared_preload_libraries = 'pg_stat_statements'\n`);

export class Product extends Subject {
  readonly dir: string;
  readonly #argv: ProgramArgv;
  readonly #portBase: number;
  readonly #running: Running;

  private constructor(dir: string, argv: ProgramArgv, portBase: number, running: Running, at: Subject['at']) {
    super(at);
    this.dir = dir;
    this.#argv = argv;
    this.#portBase = portBase;
    this.#running = running;
  }

  static async start({ scripts = 'small', targets, checkout, counted }: ProductOptions = {}): Promise<Product> {
    const argv = ofCheckout(checkout);
    const parent = await emptyDir();
    const dir = join(parent.path, 'data');
    const portBase = await freePortBase();
    await (await StartedUp.start(argv, dir, portBase)).stop();
    const paths = scripts === 'samples' ? {} : await writeScripts(parent.path, scripts);
    const names = await configure(dir, paths, targets);
    if (counted) await countStatements(dir);
    const running = await run(argv, dir, portBase);
    return new Product(dir, argv, portBase, running, {
      ...{ targets: names, url: `http://127.0.0.1:${portBase}` },
      tokens: await Promise.all(USERS.map((user) => localToken(dataDir(dir), { user, guest: false }))),
      get sql() {
        return running.sql;
      },
      get postmaster() {
        return running.postmaster;
      },
      get server() {
        return running.app.pid;
      },
      processes: () => processTree(running.app.pid),
      async busy() {
        return (await running.sql.query({ name: 'idle', text: 'select from job limit 1' })).rows.length > 0;
      },
      async [Symbol.asyncDispose]() {
        await running.sql.end().catch(() => undefined);
        await running.app[Symbol.asyncDispose]();
        await parent[Symbol.asyncDispose]();
      },
    });
  }

  get scripts(): ScriptPaths {
    return scriptPaths(join(this.dir, '..'));
  }

  /** Kills the server as a crash would, and starts it again on what it left; the database server is another one then. */
  async crashAndRestart(): Promise<void> {
    await this.#running.app.kill();
    Object.assign(this.#running, await run(this.#argv, this.dir, this.#portBase));
  }
}

interface Running {
  app: StartedUp;
  /** On the cache database. */
  sql: pg.Client;
  postmaster: number;
}

async function run(argv: ProgramArgv, dir: string, portBase: number): Promise<Running> {
  const app = await StartedUp.start(argv, dir, portBase);
  return { app, sql: await cacheClient(dir), postmaster: await postmasterOf(dir) };
}

const scriptPaths = (dir: string): ScriptPaths => ({
  dataCleaning: join(dir, 'dataCleaning.sh'),
  dataInstall: join(dir, 'dataInstall.sh'),
  metaUpdate: join(dir, 'metaUpdate.sh'),
});

export async function writeScripts(dir: string, which: keyof typeof SCRIPTS): Promise<ScriptPaths> {
  await mkdir(dir, { recursive: true });
  const paths = scriptPaths(dir);
  for (const key of Object.keys(paths) as ScriptKey[])
    await writeFile(paths[key], `#!/bin/sh\n${SCRIPTS[which][key]}\n`, { mode: 0o755 });
  return paths;
}

/** The names of the targets. */
async function configure(dir: string, scripts: Partial<ScriptPaths>, targets?: number): Promise<readonly string[]> {
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  const { installer } = config;
  for (const [key, path] of Object.entries(scripts)) {
    const plugin = installer.plugins[TYPE];
    if (!plugin) throw new Error(`no plugin ${TYPE}`);
    plugin.scripts[key] = { pathOverride: path };
  }
  // A gigabyte and the form around it.
  installer.restService = { maxUploadSize: 2 ** 31 };
  const [first] = installer.installTargets as [Target];
  if (targets !== undefined)
    installer.installTargets = Array.from({ length: targets }, (_, n) => ({
      targetId: `Target${n}`,
      controlDb: { ...first.controlDb, schema: `target${n}_control` },
      dataDb: { ...first.dataDb, schema: `target${n}_data` },
    }));
  await writeFile(file, stringify(config));
  return installer.installTargets.map(({ targetId }) => targetId);
}

/** On the cache database. */
async function cacheClient(dir: string): Promise<pg.Client> {
  const config = parse(await readFile(join(dir, 'config.yaml'), 'utf8')) as Config;
  const { name, username, password } = config.installer.cacheDb;
  const client = new pg.Client({ ...(await addressOf(dir)), user: username, password, database: name });
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`set search_path to ${pg.escapeIdentifier(CACHE_SCHEMA)}`);
  return client;
}

/** As the superuser. */
export async function superuser(dir: string, database: string): Promise<pg.Client> {
  const password = (await readFile(join(dir, 'postgres.password'), 'utf8')).trim();
  const client = new pg.Client({ ...(await addressOf(dir)), user: 'postgres', password, database });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

const addressOf = async (dir: string): Promise<{ host: string; port: number }> => ({
  host: '127.0.0.1',
  port: Number(await readFile(join(dir, 'postgres.port'), 'utf8')),
});

export const postmasterOf = async (dir: string): Promise<number> =>
  Number((await readFile(join(dir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
