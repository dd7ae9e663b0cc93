// Ceph's S3 service of one run: a monitor, one object storage daemon and radosgw, in a directory and on ports of their own,
// with one user. It speaks HTTP and HTTPS. The gateway alone can be paused, killed and started again: what it stored is
// kept by the storage daemon, in memory, or with `durable` in a file that outlives the daemon as well.

import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'minio';
import { freePorts } from '../support/ports.ts';
import { type Certificate, makeCertificate } from './certificate.ts';
import { cephConfiguration } from './radosgw-configuration.ts';
import { type AmqpTopic, notifyAmqp } from './radosgw-notification.ts';
import { ServerProcess } from './server-process.ts';

export interface RadosgwOptions {
  /** Kept in a file instead of in memory. */
  readonly durable?: boolean;
  /** The gateway will be killed and started again: it works without its cache, four times slower. */
  readonly killed?: boolean;
  /** GiB that it can take, with what was overwritten: it is never collected. Default 4. */
  readonly gib?: number;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

const run = promisify(execFile);

/** Starts it, and ends it with everything it wrote when the test ends. */
export async function startRadosgw(t: Teardown, options: RadosgwOptions = {}): Promise<Radosgw> {
  // Admin sockets lie below it, whose names may not be long.
  const dir = mkdtempSync(join(tmpdir(), 'rgw-'));
  const [monitor = 0, http = 0, https = 0] = await freePorts(3);
  const radosgw = new Radosgw(dir, options, { monitor, http, https });
  t.teardown(async () => {
    await radosgw[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });
  await radosgw.start();
  return radosgw;
}

export class Radosgw implements AsyncDisposable {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly tlsPort: number;
  readonly certificate: Certificate;
  readonly accessKey = `AK${randomBytes(9).toString('hex')}`;
  readonly secretKey = `SK${randomBytes(18).toString('hex')}`;
  readonly #dir: string;
  readonly #options: RadosgwOptions;
  readonly #monitorPort: number;
  #monitor: ServerProcess | undefined;
  #storage: ServerProcess | undefined;
  #gateway: ServerProcess | undefined;
  /** Of the gateway before. */
  #ending: Promise<void> | undefined;

  constructor(dir: string, options: RadosgwOptions, ports: { monitor: number; http: number; https: number }) {
    this.#dir = dir;
    this.#options = options;
    this.#monitorPort = ports.monitor;
    this.port = ports.http;
    this.tlsPort = ports.https;
    mkdirSync(this.#at('tls'));
    this.certificate = makeCertificate(this.#at('tls'));
  }

  async start(): Promise<void> {
    const fsid = randomUUID();
    for (const name of ['mon', 'osd', 'rgw', 'run', 'log']) mkdirSync(this.#at(name));
    const configuration = cephConfiguration({
      dir: this.#dir,
      fsid,
      durable: this.#options.durable ?? false,
      killed: this.#options.killed ?? false,
      capacity: (this.#options.gib ?? 4) * 1024 ** 3,
      host: this.host,
      monitorPort: this.#monitorPort,
      port: this.port,
      tlsPort: this.tlsPort,
      certificate: this.certificate,
    });
    writeFileSync(this.#at('ceph.conf'), configuration);
    await this.#makeKeys();
    await this.#startMonitor(fsid);
    await this.#makeStorage();
    await this.startStorage();
    await this.startGateway();
    const user = ['--uid=test', '--display-name=test', `--access-key=${this.accessKey}`, `--secret=${this.secretKey}`];
    await this.#run('radosgw-admin', '-n', 'client.rgw', 'user', 'create', ...user);
  }

  /** A client of the user, or of the one with that key. */
  client(accessKey = this.accessKey): Client {
    const { host: endPoint, port, secretKey } = this;
    return new Client({ endPoint, port, useSSL: false, accessKey, secretKey, region: 'us-east-1' });
  }

  /** @returns the name of a new, empty bucket */
  async makeBucket(): Promise<string> {
    const name = `b-${randomBytes(6).toString('hex')}`;
    await this.client().makeBucket(name);
    return name;
  }

  /** A bucket of another user, which this one may not even look into. */
  async strangersBucket(): Promise<{ readonly bucket: string }> {
    const accessKey = `AK${randomBytes(9).toString('hex')}`;
    const name = `stranger-${randomBytes(4).toString('hex')}`;
    const keys = [`--access-key=${accessKey}`, `--secret=${this.secretKey}`];
    await this.#run(
      'radosgw-admin',
      '-n',
      'client.rgw',
      'user',
      'create',
      `--uid=${name}`,
      `--display-name=${name}`,
      ...keys,
    );
    const bucket = `b-${name}`;
    await this.client(accessKey).makeBucket(bucket);
    return { bucket };
  }

  /** Objects that come and go in the bucket are announced there from now on. */
  notifyAmqp(bucket: string, topic: AmqpTopic): Promise<void> {
    return notifyAmqp(this, bucket, topic);
  }

  /** The gateway hangs: connections are taken and nothing is answered. */
  pause(): void {
    this.#gateway?.pause();
  }

  continue(): void {
    this.#gateway?.continue();
  }

  /** While all of it runs. */
  get pids(): { readonly gateway: number; readonly storage: number; readonly monitor: number } {
    const pid = (server: ServerProcess | undefined): number => {
      if (!server) throw new Error('not all of it runs');
      return server.pid;
    };
    return { gateway: pid(this.#gateway), storage: pid(this.#storage), monitor: pid(this.#monitor) };
  }

  /** Requests that the gateway has taken since it started. */
  async requests(): Promise<number> {
    const said = await this.#run('ceph', 'daemon', this.#at('run', 'client.rgw.asok'), 'perf', 'dump', 'rgw');
    return (JSON.parse(said) as { rgw: { req: number } }).rgw.req;
  }

  /** With -9: what was under way is cut off. */
  async killGateway(): Promise<void> {
    this.#ending = kill(this.#gateway);
    this.#gateway = undefined;
    await this.#ending;
  }

  /** Does nothing while it runs. */
  async startGateway(): Promise<void> {
    await this.#ending;
    this.#gateway ??= await ServerProcess.start({
      program: 'radosgw',
      args: [...this.#configuration(), '-n', 'client.rgw', '-f'],
      log: this.#at('log', 'rgw.out'),
      ports: [this.port, this.tlsPort],
    });
  }

  /** Of a durable store, to be started again. */
  async killStorage(): Promise<void> {
    await kill(this.#storage);
    this.#storage = undefined;
  }

  async startStorage(): Promise<void> {
    this.#storage = await ServerProcess.start({
      program: 'ceph-osd',
      args: [...this.#configuration(), '-i', '0', '-f'],
      log: this.#at('log', 'osd.out'),
      ready: async () => (await this.#run('ceph', 'osd', 'stat')).includes('1 up'),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // In good order they would take seconds, and nothing of it is kept.
    await this.killGateway();
    await this.killStorage();
    await kill(this.#monitor);
  }

  async #makeKeys(): Promise<void> {
    const all = (...services: readonly string[]): string[] => services.flatMap((name) => ['--cap', name, 'allow *']);
    const keyring = this.#at('keyring');
    const make = (...args: readonly string[]): Promise<unknown> =>
      run('ceph-authtool', [keyring, '--gen-key', ...args]);
    await make('--create-keyring', '-n', 'mon.', ...all('mon'));
    await make('-n', 'client.admin', ...all('mon', 'osd', 'mgr'));
    await make('-n', 'client.rgw', ...all('mon', 'osd'));
    await make('-n', 'osd.0', ...all('mon', 'osd'));
  }

  async #startMonitor(fsid: string): Promise<void> {
    const map = this.#at('monmap');
    const address = `[v2:${this.host}:${this.#monitorPort}/0]`;
    await run('monmaptool', ['--create', '--clobber', '--fsid', fsid, '--addv', 'a', address, map]);
    await this.#run('ceph-mon', '-i', 'a', '--mkfs', '--monmap', map, '--keyring', this.#at('keyring'));
    this.#monitor = await ServerProcess.start({
      program: 'ceph-mon',
      args: [...this.#configuration(), '-i', 'a', '-f'],
      log: this.#at('log', 'mon.out'),
      ports: [this.#monitorPort],
    });
  }

  async #makeStorage(): Promise<void> {
    const id = randomUUID();
    await this.#run('ceph', 'osd', 'new', id);
    await this.#run('ceph', 'auth', 'import', '-i', this.#at('keyring'));
    await this.#run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', id);
  }

  async #run(program: string, ...args: readonly string[]): Promise<string> {
    try {
      return (await run(program, [...this.#configuration(), ...args])).stdout;
    } catch (error) {
      const log = readFileSync(this.#at('log', 'osd.0.log'), { encoding: 'utf8', flag: 'a+' }).slice(-2_000);
      throw new Error(`${program} failed; the storage daemon logged: ${log}`, { cause: error });
    }
  }

  #configuration(): string[] {
    return ['-c', this.#at('ceph.conf')];
  }

  #at(...names: readonly string[]): string {
    return join(this.#dir, ...names);
  }
}

async function kill(server: ServerProcess | undefined): Promise<void> {
  server?.signal('SIGKILL');
  await server?.[Symbol.asyncDispose]();
}
