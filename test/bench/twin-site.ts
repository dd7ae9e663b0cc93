// The honest twin (twin.ts) with a database server of its own, set up as the product's is.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { controlMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { RUNTIME_OPTIONS } from '../../engine/runtime/program-files.ts';
import { durableServer } from './durable-server.ts';
import { processTree } from './processes.ts';
import { postmasterOf, type SCRIPTS, writeScripts } from './product.ts';
import { Subject, USERS } from './subject.ts';
import { type TwinOptions, twinToken } from './twin.ts';

const DATABASE = 'twin';
const TARGETS = ['AlphaDB', 'BetaDB'] as const;
const SECRET = 'longshore-bench';
const STATUSES = `
create table dataset (dataset_id text primary key, owner numeric(19) not null, details jsonb not null,
  created timestamptz not null, import_status text not null default 'queued');
create table install_status (dataset_id text not null references dataset, target_id text not null, kind text not null,
  status text not null, primary key (dataset_id, target_id, kind))`;

export class Twin extends Subject {
  /** Of its database server. */
  readonly dir: string;

  private constructor(dir: string, at: Subject['at']) {
    super(at);
    this.dir = dir;
  }

  static async start(which: keyof typeof SCRIPTS = 'small', counted = false): Promise<Twin> {
    const server = await durableServer({ counted });
    const { dir, postgres } = server;
    await server.database(DATABASE);
    const sql = new pg.Client({ ...postgres, database: DATABASE });
    await sql.connect();
    await sql.query(STATUSES);
    for (const target of TARGETS) await siteDatabase(postgres, await server.database(target.toLowerCase()));
    const options: TwinOptions = {
      ...{ dir: join(dir, 'twin'), secret: SECRET, postgres, database: DATABASE, targets: TARGETS },
      scripts: await writeScripts(dir, which),
    };
    await mkdir(options.dir);
    const execArgv = [...RUNTIME_OPTIONS];
    const child = fork(join(import.meta.dirname, 'twin.ts'), ['twin', JSON.stringify(options)], { execArgv });
    const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }];
    const pid = child.pid as number;
    const postmaster = await postmasterOf(dir);
    return new Twin(dir, {
      ...{ sql, targets: TARGETS, url: `http://127.0.0.1:${port}`, server: pid, postmaster },
      tokens: USERS.map((user) => twinToken(user, SECRET)),
      processes: () => [...processTree(pid), ...processTree(postmaster)],
      busy: async () => false,
      async [Symbol.asyncDispose]() {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
        await sql.end();
        await server[Symbol.asyncDispose]();
      },
    });
  }
}

/** With the tables that the product's targets have. */
async function siteDatabase(postgres: TwinOptions['postgres'], database: string): Promise<void> {
  const options = { ...postgres, database, schema: 'control', poolSize: 1, idleTimeoutMs: 1_000 };
  await using db = new Postgres({ ...options, applicationName: 'bench' }, silentLogger());
  await migrate(db, 'control', await controlMigrations(), new AbortController().signal);
  await db.query(`alter database ${database} set search_path to control`);
}
