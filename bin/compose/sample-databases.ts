// The data DBs that sample scripts connect to, named by the variables of the plugin protocol.

import type { SampleDatabase } from '../../config/samples/row-statements.ts';
import type { MariaDb } from '../../engine/adapters/mariadb/mariadb.ts';
import type { Postgres, PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { Failure } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';

const IDLE_MS = 10_000;

type Environment = Readonly<Record<string, string | undefined>>;
type Platform = SampleDatabase['platform'];
type Pool = SampleDatabase & AsyncDisposable;

/** By `DB_PLATFORM`, in any case. */
const PLATFORMS: Readonly<Record<string, Platform>> = {
  postgres: 'Postgres',
  postgresql: 'Postgres',
  mariadb: 'MariaDB',
};

/** One pool for each set of variables. A connection of a pool serves one script at a time, and is closed when it is idle. */
export class SampleDatabases implements AsyncDisposable {
  readonly #poolSize: number;
  readonly #pools = new Map<string, Promise<Pool>>();

  /** @param poolSize most connections of a pool: at least the number of scripts that run at the same time */
  constructor(poolSize: number) {
    this.#poolSize = poolSize;
  }

  get pools(): number {
    return this.#pools.size;
  }

  async of(env: Environment): Promise<SampleDatabase> {
    const options = optionsOf(env, this.#poolSize);
    const key = JSON.stringify(options);
    const pool = this.#pools.get(key) ?? open(options);
    this.#pools.set(key, pool);
    return await pool;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pool of this.#pools.values()) await (await pool)[Symbol.asyncDispose]();
    this.#pools.clear();
  }
}

function optionsOf(env: Environment, poolSize: number): PostgresOptions & { readonly platform: Platform } {
  const value = (name: string): string => {
    const text = env[name];
    if (text === undefined || text === '') throw new Failure('defect', `${name} is not set`);
    return text;
  };
  const platform = PLATFORMS[value('DB_PLATFORM').toLowerCase()];
  if (!platform)
    throw new Failure('defect', `DB_PLATFORM '${env.DB_PLATFORM}': the sample plugins need Postgres or MariaDB`);
  const schema = env.DB_SCHEMA || value(platform === 'MariaDB' ? 'DB_NAME' : 'DB_USER');
  return {
    platform,
    host: value('DB_HOST'),
    port: Number(value('DB_PORT')),
    user: value('DB_USER'),
    password: value('DB_PASS'),
    // On MariaDB, names without a schema are those of the connection's database.
    database: platform === 'MariaDB' ? schema : value('DB_NAME'),
    schema,
    poolSize,
    idleTimeoutMs: IDLE_MS,
    applicationName: 'longshore-sample',
  };
}

/** The driver is loaded on demand: most scripts need none. */
async function open({ platform, ...options }: ReturnType<typeof optionsOf>): Promise<Pool> {
  const { silentLogger } = await import('../../engine/runtime/log.ts');
  const db = platform === 'MariaDB' ? await mariaDb(options, silentLogger()) : await postgres(options, silentLogger());
  return {
    platform,
    query: (text, values) => db.query(text, values),
    transaction: (work, signal) => db.transaction(work, signal),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  };
}

async function postgres(options: PostgresOptions, log: Logger): Promise<Postgres> {
  const driver = await import('../../engine/adapters/postgres/postgres.ts');
  return new driver.Postgres(options, log);
}

async function mariaDb(options: PostgresOptions, log: Logger): Promise<MariaDb> {
  const [driver, { systemClock }] = await Promise.all([
    import('../../engine/adapters/mariadb/mariadb.ts'),
    import('../../engine/runtime/time.ts'),
  ]);
  return new driver.MariaDb(options, systemClock, log);
}
