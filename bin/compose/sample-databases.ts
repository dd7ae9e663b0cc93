// The data DBs that sample scripts connect to, named by the variables of the plugin protocol.

import type { Postgres, PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { Failure } from '../../engine/runtime/failure.ts';

const IDLE_MS = 10_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** One pool for each set of variables. A connection of a pool serves one script at a time, and is closed when it is idle. */
export class SampleDatabases implements AsyncDisposable {
  readonly #poolSize: number;
  readonly #pools = new Map<string, Promise<Postgres>>();

  /** @param poolSize most connections of a pool: at least the number of scripts that run at the same time */
  constructor(poolSize: number) {
    this.#poolSize = poolSize;
  }

  get pools(): number {
    return this.#pools.size;
  }

  async of(env: Environment): Promise<Postgres> {
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

function optionsOf(env: Environment, poolSize: number): PostgresOptions {
  const value = (name: string): string => {
    const text = env[name];
    if (text === undefined || text === '') throw new Failure('defect', `${name} is not set`);
    return text;
  };
  if (value('DB_PLATFORM').toLowerCase() !== 'postgres')
    throw new Failure('defect', `DB_PLATFORM '${env.DB_PLATFORM}': the sample plugins need Postgres`);
  return {
    host: value('DB_HOST'),
    port: Number(value('DB_PORT')),
    user: value('DB_USER'),
    password: value('DB_PASS'),
    database: value('DB_NAME'),
    schema: env.DB_SCHEMA || value('DB_USER'),
    poolSize,
    idleTimeoutMs: IDLE_MS,
    applicationName: 'longshore-sample',
  };
}

/** The driver is loaded on demand: most scripts need none. */
async function open(options: PostgresOptions): Promise<Postgres> {
  const [driver, { silentLogger }] = await Promise.all([
    import('../../engine/adapters/postgres/postgres.ts'),
    import('../../engine/runtime/log.ts'),
  ]);
  return new driver.Postgres(options, silentLogger());
}
