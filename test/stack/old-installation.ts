// What another installer of this kind leaves behind: a bucket that announces its changes to a broker, and the database of a site
// with a control schema and the rows of a plugin, which point to it.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { zipOf } from '../fixtures/zip-of.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { startRabbitMq } from './rabbitmq.ts';
import { type Radosgw, startRadosgw } from './radosgw.ts';

export const [OWNER, FRIEND] = ['8', '9'] as const;
/** Of every dataset. */
export const GENES = ['PF3D7_0100100', 'PF3D7_0102500'] as const;
/** Ids as other installers make them: 13 characters, 32 of older ones, a revision with a dot. */
export const OLD = 'aB3dE6gH9jK2m';
export const OLDER = '0123456789abcdef0123456789abcdef';
export const DELETED = 'dE3dE6gH9jK2m';
export const INVALID = 'iN3dE6gH9jK2m';
export const REVISED = 'rE3dE6gH9jK2m';
export const REVISION = `${REVISED}.1`;

const EXCHANGE = 'changes-of-the-bucket';
const ROUTING_KEY = 'changes';
const DATA_PASSWORD = 'data-role-of-the-site';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export interface OldInstallation {
  /** An empty folder. */
  readonly dir: string;
  readonly site: OldSite;
  readonly bucket: OldBucket;
  /** Of the services, as the sample configuration takes them. */
  readonly environment: Readonly<Record<string, string>>;
}

export async function oldInstallation(t: Teardown): Promise<OldInstallation> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-migrating-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const [rabbit, store] = await Promise.all([
    startRabbitMq(await mkdtemp(join(tmpdir(), 'longshore-rabbitmq-'))),
    startRadosgw(t),
  ]);
  t.teardown(() => rabbit[Symbol.asyncDispose]());
  const name = await store.makeBucket();
  await store.notifyAmqp(name, { amqpPort: rabbit.port, exchange: EXCHANGE, topic: ROUTING_KEY });
  const bucket = new OldBucket(store, name);
  const site = new OldSite(await testDatabase(t));
  await Promise.all([bucket.fill(), site.fill(t)]);
  return {
    dir,
    site,
    bucket,
    environment: { ...site.environment(), ...bucket.environment(), ...brokerOf(rabbit.port) },
  };
}

const brokerOf = (port: number): Readonly<Record<string, string>> => ({
  RABBITMQ_SERVER: `127.0.0.1:${port}`,
  RABBITMQ_TLS: 'false',
  RABBITMQ_USER: 'guest',
  RABBITMQ_PASSWORD: 'guest',
  RABBITMQ_EXCHANGE: EXCHANGE,
  RABBITMQ_ROUTING_KEY: ROUTING_KEY,
});

export class OldSite {
  readonly db: TestDatabase;
  /** The role of the plugin: of this run, since roles are those of the whole server. */
  readonly dataRole: string;

  constructor(db: TestDatabase) {
    this.db = db;
    this.dataRole = `site_data_${db.database}`;
  }

  environment(): Readonly<Record<string, string>> {
    const { host, port, database, user, password } = this.db;
    return {
      SITE_DB_SERVER: `${host}:${port}`,
      SITE_DB_NAME: database,
      CONTROL_DB_USER: user,
      CONTROL_DB_PASSWORD: password,
      DATA_DB_USER: this.dataRole,
      DATA_DB_PASSWORD: DATA_PASSWORD,
    };
  }

  /** What the plugin's role is to connect as. */
  asDataRole(database: string): pg.ClientConfig {
    return { database, user: this.dataRole, password: DATA_PASSWORD };
  }

  /** Runs one statement, or several without values, whose last result counts. */
  async query<Row extends object>(
    text: string,
    values: readonly unknown[] = [],
    more: pg.ClientConfig = {},
  ): Promise<Row[]> {
    const client = new pg.Client({ ...this.db, ...more });
    await client.connect();
    try {
      const result: unknown = await client.query(text, values.length > 0 ? [...values] : undefined);
      return ((Array.isArray(result) ? result.at(-1) : result) as pg.QueryResult<Row>).rows;
    } finally {
      await client.end();
    }
  }

  /** Every row of the old schemas, as the old installation would find it. */
  rows(): Promise<object[]> {
    return this.query(
      'select * from alpha_control.dataset join alpha_data.genelist using (dataset_id) order by dataset_id',
    );
  }

  async fill(t: Teardown): Promise<void> {
    const role = pg.escapeIdentifier(this.dataRole);
    await this.query(`create role ${role} login password '${DATA_PASSWORD}'`);
    t.teardown(() => this.query(`drop owned by ${role} cascade; drop role ${role}`));
    await this.query(`
      create schema alpha_control;
      create schema alpha_data authorization ${role};
      create table alpha_control.dataset (dataset_id varchar(32) primary key, is_deleted smallint not null default 0);
      create table alpha_data.genelist (dataset_id varchar(32) not null references alpha_control.dataset,
        gene_id text not null, primary key (dataset_id, gene_id));
      alter table alpha_data.genelist owner to ${role};
      insert into alpha_control.dataset values ('${OLD}'), ('${OLDER}');
      insert into alpha_data.genelist values ('${OLD}', '${GENES[0]}'), ('${OLDER}', '${GENES[0]}');`);
  }
}

export class OldBucket {
  readonly #store: Radosgw;
  readonly #name: string;

  constructor(store: Radosgw, name: string) {
    this.#store = store;
    this.#name = name;
  }

  environment(): Readonly<Record<string, string>> {
    return {
      S3_SERVER: `127.0.0.1:${this.#store.port}`,
      S3_HTTPS: 'false',
      S3_BUCKET: this.#name,
      S3_ACCESS_KEY: this.#store.accessKey,
      S3_SECRET_KEY: this.#store.secretKey,
    };
  }

  async fill(): Promise<void> {
    const targets = { installTargets: ['AlphaDB'] };
    const entry = (action: string, day: string, revisionId: string): object => ({
      ...{ action, revisionId, timestamp: `2024-03-${day}T12:00:00Z`, revisionNote: `Of March ${day}` },
    });
    const revisionHistory = {
      originalId: REVISED,
      revisionHistory: [entry('create', '01', REVISED), entry('revise', '02', REVISION)],
    };
    await this.#put(OLD, targets, {
      [`shares/${FRIEND}/share-offer.json`]: '{"action":"grant"}',
      [`shares/${FRIEND}/share-receipt.json`]: '{"action":"accept"}',
    });
    await this.#put(OLDER, { projects: ['AlphaDB'], dependencies: null });
    await this.#put(DELETED, targets, { 'delete-flag': '' });
    await this.#put(REVISED, targets, { 'revised-flag': '' });
    await this.#put(REVISION, { ...targets, revisionHistory });
    await this.#put(INVALID, targets, {
      'import-ready.zip': await zipOf([{ name: 'genes.txt', text: 'no <gene>\n' }]),
    });
    await this.#client.removeObject(this.#name, `${OWNER}/${INVALID}/install-ready.zip`);
  }

  /** Of what the import of these datasets made. */
  etags(ids: readonly string[]): Promise<readonly string[]> {
    const stat = (id: string) => this.#client.statObject(this.#name, `${OWNER}/${id}/install-ready.zip`);
    return Promise.all(ids.map(async (id) => (await stat(id)).etag));
  }

  get #client(): ReturnType<Radosgw['client']> {
    return this.#store.client();
  }

  /** One dataset, imported; with more fields of its metadata, and more objects. */
  async #put(id: string, more: object, also: Readonly<Record<string, string | Buffer>> = {}): Promise<void> {
    const type = { name: 'genelist', version: '1.0' };
    const about = { name: `Genes of ${id}`, summary: 'From before', origin: 'direct-upload' };
    const created = '2024-03-01T12:00:00Z';
    const manifest = {
      inputFiles: [{ filename: 'genes.txt', fileSize: 28 }],
      dataFiles: [{ filename: 'formatted_gene_list.txt', fileSize: 28 }],
    };
    const objects = {
      'vdi-meta.json': JSON.stringify({
        type,
        visibility: 'private',
        owner: Number(OWNER),
        ...about,
        created,
        ...more,
      }),
      'vdi-manifest.json': JSON.stringify(manifest),
      'import-ready.zip': await zipOf([{ name: 'genes.txt', text: GENES.join(', ') }]),
      'install-ready.zip': await zipOf([{ name: 'formatted_gene_list.txt', text: `${GENES.join('\n')}\n` }]),
      ...also,
    };
    for (const [name, body] of Object.entries(objects))
      await this.#client.putObject(this.#name, `${OWNER}/${id}/${name}`, body);
  }
}
