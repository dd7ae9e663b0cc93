// What the services of a full stack use: processor time of each, and what they were asked to do.

import pg from 'pg';
import type { Installation } from '../stack/installation.ts';
import type { Teardowns } from '../stack/scale-out/teardowns.ts';
import type { DurableServer } from './durable-server.ts';
import { cpuSeconds, processTree } from './processes.ts';
import { postmasterOf } from './product.ts';

type ServiceName =
  | 'PostgreSQL cache'
  | 'PostgreSQL sites'
  | 'Kafka'
  | 'RabbitMQ'
  | 'radosgw'
  | 'Ceph behind it'
  | 'slapd';
type Statistics = Readonly<Record<'commits' | 'syncs' | 'bytes', number>>;

const STATISTICS = `
  select (select sum(xact_commit) from pg_stat_database)::float8 as commits,
    (select sum(fsyncs) from pg_stat_io where object = 'wal')::float8 as syncs, wal_bytes::float8 as bytes
  from pg_stat_wal`;
const CONNECTIONS = `select count(*)::integer as n from pg_stat_activity where backend_type = 'client backend'
  and pid <> pg_backend_pid()`;

interface Database {
  readonly sql: pg.Client;
  readonly postmaster: number;
}

export class Services {
  readonly #at: Installation;
  readonly #cache: Database;
  readonly #sites: Database;

  private constructor(at: Installation, cache: Database, sites: Database) {
    this.#at = at;
    this.#cache = cache;
    this.#sites = sites;
  }

  static async open(t: Teardowns, at: Installation, cache: DurableServer, sites: DurableServer): Promise<Services> {
    return new Services(at, await open(t, cache), await open(t, sites));
  }

  /** Seconds since they started. Connections that ended are in those of the server that waited for them. */
  cpu(): Readonly<Record<ServiceName, number>> {
    const { kafka, rabbit, store, directory } = this.#at;
    const all = (...roots: readonly number[]): number => cpuSeconds(roots.flatMap(processTree));
    const database = ({ postmaster }: Database): number => cpuSeconds(processTree(postmaster), postmaster);
    return {
      'PostgreSQL cache': database(this.#cache),
      'PostgreSQL sites': database(this.#sites),
      Kafka: all(...kafka.pids),
      RabbitMQ: all(rabbit.pid),
      radosgw: all(store.pids.gateway),
      'Ceph behind it': all(store.pids.storage, store.pids.monitor),
      slapd: all(directory.pid),
    };
  }

  /** Since they started. PostgreSQL tells what a connection did when it has been idle for ten seconds, or ends. */
  async counts(): Promise<Readonly<Record<string, number>>> {
    const [cache, sites] = [await statistics(this.#cache), await statistics(this.#sites)];
    return {
      'commits, cache': cache.commits,
      'commits, sites': sites.commits,
      'WAL syncs, cache': cache.syncs,
      'WAL syncs, sites': sites.syncs,
      'WAL KiB, cache': cache.bytes / 1024,
      'WAL KiB, sites': sites.bytes / 1024,
      'messages of Kafka': await this.#messages(),
      'requests of S3': await this.#at.store.requests(),
    };
  }

  /** Open now. */
  async connections(): Promise<Readonly<Record<string, number>>> {
    const count = async ({ sql }: Database): Promise<number> => (await sql.query(CONNECTIONS)).rows[0].n;
    return { 'connections, cache': await count(this.#cache), 'connections, sites': await count(this.#sites) };
  }

  async #messages(): Promise<number> {
    const admin = await this.#at.kafka.admin();
    const topics = (await admin.listTopics()).filter((name) => !name.startsWith('__'));
    const ends = await Promise.all(topics.map((topic) => admin.fetchTopicOffsets(topic)));
    return ends.flat().reduce((sum, { high }) => sum + Number(high), 0);
  }
}

async function open(t: Teardowns, server: DurableServer): Promise<Database> {
  const sql = new pg.Client({ ...server.postgres, database: 'postgres' });
  sql.on('error', () => undefined);
  await sql.connect();
  t.teardown(() => sql.end());
  return { sql, postmaster: await postmasterOf(server.dir) };
}

const statistics = async ({ sql }: Database): Promise<Statistics> =>
  (await sql.query<Statistics>(STATISTICS)).rows[0] as Statistics;
