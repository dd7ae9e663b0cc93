// A small installation for trials of alerts: `serve` with a cache database behind a gate, a plugin, a mail server and objects that
// the test can break, and a Prometheus with rules that lose their patience within seconds. Its operator follows docs/runbooks.md.

import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Test } from 'tap';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import type { UserId } from '../../engine/model/ids.ts';
import { issueToken, newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import { zipOf } from '../fixtures/archives.ts';
import { Api } from '../support/api.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { type Finished, freePortBase, longshore, type Running, running, tempDir } from '../support/longshore.ts';
import { freePort } from '../support/ports.ts';
import { type PostgresProxy, postgresProxy } from '../support/postgres-proxy.ts';
import { type SmtpServer, smtpServer } from '../support/smtp-server.ts';
import { type Seeding, seeding } from '../support/uploaded-datasets.ts';
import { type FiringAlert, Prometheus } from './prometheus.ts';
import { commandOf } from './runbook.ts';

/** Everything that looks at something does so at least every 15 s; with room for a busy machine. */
const NOTICED_MS = 120_000;
const OWNER = '4711' as UserId;
const TYPE = { name: 'genes', version: '1.0' };
const ADMIN_TOKEN = 'a'.repeat(40);

/** What the plugin does with an import; `hangs`: it answers no call at all. */
type Behaviour = 'imports' | 'fails' | 'holds' | 'hangs';

export interface TrialOptions {
  /** Where the folder of the objects is; default: beside the configuration. */
  readonly storeIn?: string;
  /** Has an install target, SiteA. */
  readonly withTarget?: boolean;
  /** Of the installer's section, instead of what is there. */
  readonly installer?: Readonly<Record<string, unknown>>;
}

export class TrialSite {
  readonly t: Test;
  readonly #keys: Awaited<ReturnType<typeof newKeyPair>>;
  readonly file: string;
  readonly store: string;
  readonly url: string;
  readonly access: string;
  readonly database: TestDatabase;
  readonly gate: PostgresProxy;
  readonly smtp: SmtpServer;
  readonly seeds: Seeding;
  readonly prometheus: Prometheus;
  readonly plugin: TrialPlugin;
  #service: Running | undefined;

  static async open(t: Test, options: TrialOptions = {}): Promise<TrialSite> {
    const { storeIn, withTarget = false } = options;
    const dir = await tempDir(t);
    const database = await testDatabase(t);
    const gate = await postgresProxy(t, database);
    const smtp = await smtpServer(t);
    const base = await freePortBase();
    const plugin = await TrialPlugin.open(t);
    const store = join(storeIn ?? dir, 'store');
    const file = join(dir, 'longshore.yaml');
    const keys = await newKeyPair();
    await writeFile(join(dir, 'key.pem'), keys.privateKeyPem, { mode: 0o600 });
    await writeFile(join(dir, 'key.pub.pem'), keys.publicKeyPem);
    await mkdir(join(dir, 'installed'));
    const { host, user, password, database: name } = database;
    const document = {
      containerCore: {
        shutdownGrace: '5s',
        authentication: {
          adminToken: ADMIN_TOKEN,
          oauth: { issuer: 'trial', publicKeyFile: 'key.pub.pem', privateKeyFile: 'key.pem' },
        },
        ports: { installer: base, access: base + 1 },
        // The disk may be small, and is filled.
        disk: { floor: 0, floorSize: 0 },
      },
      installer: {
        cacheDb: { server: { host, port: gate.port }, username: user, password, name },
        objectStore: { driver: 'directory', path: encodeURI(store) },
        logBroker: { driver: 'postgres' },
        queueBroker: { driver: 'postgres' },
        siteBuild: 'build-1',
        lanes: {
          import: {
            ...{ workerCount: 2, inMemoryQueueSize: 2 },
            retry: { attempts: 2, base: '100ms', max: '200ms' },
          },
        },
        plugins: {
          genes: {
            server: { host: '127.0.0.1', port: plugin.port },
            installRoot: encodeURI(join(dir, 'installed')),
            dataTypes: [{ ...TYPE, category: 'Genes' }],
          },
        },
        installTargets: withTarget ? [target(database)] : [{ enabled: false }],
        ...options.installer,
      },
      access: {
        siteUrl: 'https://site.example',
        registrationPath: '/r',
        applicationPath: '/a',
        supportEmail: 'help@site.example',
      },
      mail: { server: `127.0.0.1:${smtp.port}`, security: 'none', from: 'service@site.example' },
    };
    await writeFile(file, stringify(document), { mode: 0o600 });
    const migrated = await longshore(['migrate', '--config', file]);
    if (migrated.code !== 0) throw new Error(migrated.stderr);
    const seeds = await seeding(database, store);
    if (withTarget) {
      await seeds.db.query('create schema site_data');
      const made = await longshore(['migrate-target', 'SiteA', '--config', file]);
      if (made.code !== 0) throw new Error(made.stderr);
    }
    t.teardown(() => seeds[Symbol.asyncDispose]());
    const prometheus = await Prometheus.start(join(dir, 'prometheus'), `127.0.0.1:${base}`, 'hasty');
    t.teardown(() => prometheus[Symbol.asyncDispose]());
    const [url, access] = [`http://127.0.0.1:${base}`, `http://127.0.0.1:${base + 1}`];
    const site = new TrialSite({ t, file, store, url, access, database, gate, smtp, seeds, prometheus, plugin }, keys);
    await site.start();
    return site;
  }

  private constructor(
    parts: Pick<
      TrialSite,
      't' | 'file' | 'store' | 'url' | 'access' | 'database' | 'gate' | 'smtp' | 'seeds' | 'prometheus' | 'plugin'
    >,
    keys: Awaited<ReturnType<typeof newKeyPair>>,
  ) {
    this.#keys = keys;
    ({
      t: this.t,
      file: this.file,
      store: this.store,
      url: this.url,
      access: this.access,
      database: this.database,
      gate: this.gate,
      smtp: this.smtp,
      seeds: this.seeds,
      prometheus: this.prometheus,
      plugin: this.plugin,
    } = parts);
  }

  get service(): Running {
    if (!this.#service) throw new Error('the service does not run');
    return this.#service;
  }

  async start(): Promise<void> {
    this.#service = await running(this.t, ['serve', '--config', this.file]);
  }

  /** For a user of the installer. */
  async api(user: string): Promise<Api> {
    return new Api(this.url, await this.#token(user));
  }

  /** The status of what a user, or the administrator, sends to the access service. */
  async asks(who: string | 'administrator', path: string, body: object): Promise<number> {
    const caller =
      who === 'administrator' ? { 'admin-token': ADMIN_TOKEN } : { authorization: `Bearer ${await this.#token(who)}` };
    const headers = { ...caller, 'content-type': 'application/json' };
    const response = await fetch(this.access + path, { method: 'POST', headers, body: JSON.stringify(body) });
    await response.body?.cancel();
    return response.status;
  }

  #token(subject: string): Promise<string> {
    const { privateKeyPem } = this.#keys;
    return issueToken({ privateKeyPem, issuer: 'trial', subject, claims: {}, lifetimeSeconds: 600 });
  }

  /** Imports of new datasets. */
  async imports(count: number): Promise<void> {
    const datasets = await this.seeds.add(Array(count).fill(TYPE), OWNER);
    await this.seeds.enqueueImports(datasets, OWNER);
  }

  /** The same, but nobody is told of the jobs, as when notifications are lost. */
  async importsQuietly(count: number): Promise<void> {
    for (const dataset of await this.seeds.add(Array(count).fill(TYPE), OWNER))
      await this.seeds.db.query(
        `insert into job (lane, dataset_id, rank, owner, event_id, source, type)
         values ('import', $1, 2, $2::numeric, 1, 'api', 'genes:1.0')`,
        [dataset, OWNER],
      );
  }

  async change(
    edit: (document: {
      installer: { lanes: Record<'import' | 'install' | 'updateMeta' | 'softDelete', { workerCount: number }> };
    }) => void,
  ): Promise<void> {
    const document = parse(await readFile(this.file, 'utf8'));
    edit(document);
    await writeFile(this.file, stringify(document), { mode: 0o600 });
  }

  /** Resolves with the alert once it fires. */
  async fires(name: string, labels: Readonly<Record<string, string>> = {}): Promise<FiringAlert> {
    const [alert] = await this.prometheus.until(
      () => this.#alerts(name, labels),
      (alerts) => alerts.length > 0,
      NOTICED_MS,
    );
    return alert as FiringAlert;
  }

  async resolves(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.prometheus.until(
      () => this.#alerts(name, labels),
      (alerts) => alerts.length === 0,
      NOTICED_MS,
    );
  }

  async #alerts(name: string, labels: Readonly<Record<string, string>>): Promise<readonly FiringAlert[]> {
    const wanted = Object.entries({ alertname: name, ...labels });
    return (await this.prometheus.alerts()).filter((alert) =>
      wanted.every(([label, value]) => alert.labels[label] === value),
    );
  }

  /** Runs the command of the alert's section that begins like this, with the words of this case in place of the section's. */
  async follows(alert: string, start: string, words: Readonly<Record<string, string>> = {}): Promise<Finished> {
    const command = Object.entries({ '/etc/longshore/longshore.yaml': this.file, ...words }).reduce(
      (text, [word, value]) => text.replaceAll(word, value),
      commandOf(alert, start),
    );
    // A quoted word may have spaces.
    const [, ...args] = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
    const done = await this.run(...args);
    this.t.comment(`${alert}: ${command}\n${done.code} ${done.stdout}${done.stderr}`);
    return done;
  }

  /** A command that the section does not have: it makes what the alert is about. */
  run(...args: readonly string[]): Promise<Finished> {
    const env = { ...process.env, LONGSHORE_SERVER: this.url, LONGSHORE_ADMIN_TOKEN: ADMIN_TOKEN };
    return longshore(args, { env });
  }
}

/** Control and data schema beside the cache. */
function target({ host, port, user, password, database }: TestDatabase): object {
  const db = { server: { host, port }, username: user, password, name: database, platform: 'Postgres' };
  return {
    targetId: 'SiteA',
    controlDb: { ...db, schema: 'site_control' },
    dataDb: { ...db, schema: 'site_data' },
  };
}

/** A plugin server of the test. */
export class TrialPlugin {
  readonly port: number;
  does: Behaviour = 'imports';
  /** With the paths of the calls. */
  readonly #held = new Map<ServerResponse, string>();
  readonly #reply: Buffer;
  #server: Server | undefined;

  static async open(t: Test): Promise<TrialPlugin> {
    const file = 'PF3D7_0100100\n';
    const manifest = { rawUploads: [], installReady: [{ name: 'genes.txt', size: file.length }] };
    const data = await zipOf({ 'genes.txt': file });
    const reply = await zipOf({
      'vdi-manifest.json': JSON.stringify(manifest),
      ...{ 'warnings.json': '{}', 'data.zip': data },
    });
    const plugin = new TrialPlugin(await freePort(), reply);
    t.teardown(() => plugin.stop());
    await plugin.start();
    return plugin;
  }

  private constructor(port: number, reply: Buffer) {
    this.port = port;
    this.#reply = reply;
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => {
      request.resume().on('end', () => this.#answer(request.url ?? '', response));
    });
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  /** Answers what it has held, and holds no more. */
  release(): void {
    this.does = 'imports';
    const held = [...this.#held];
    this.#held.clear();
    for (const [response, path] of held) this.#answer(path, response);
  }

  #answer(path: string, response: ServerResponse): void {
    if (this.does === 'hangs' && path !== '/service-info') this.#held.set(response, path);
    else if (path !== '/import') response.end(JSON.stringify({ manifest: { gitTag: 'trial' } }));
    else if (this.does === 'holds') this.#held.set(response, path);
    else if (this.does === 'imports') response.end(this.#reply);
    else response.writeHead(500).end(JSON.stringify({ message: 'no room left in the plugin' }));
  }
}
