// A MinIO server of one run, in a directory and on a port of its own: over HTTP or over TLS. It announces what happens in a bucket
// to RabbitMQ, if it was told of it at its start.

import { randomBytes } from 'node:crypto';
import { copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client, NotificationConfig, QueueConfig } from 'minio';
import { freePort } from '../support/ports.ts';
import { type Certificate, makeCertificate } from './certificate.ts';
import { MINIO } from './go-programs.ts';
import { ServerProcess } from './server-process.ts';

export interface MinioOptions {
  readonly tls?: boolean;
  /** Buckets are also part of the host name below it. */
  readonly domain?: string;
  /** Of RabbitMQ on this machine: a durable topic exchange that is there before. */
  readonly amqp?: { readonly port: number; readonly exchange: string; readonly key: string };
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

/** Its name in the notification settings. */
const QUEUE = 'TESTS';
const LOOK_MS = 50;
const PATIENCE_MS = 60_000;

/** Starts it, and ends it with everything it wrote when the test ends. */
export async function startMinio(t: Teardown, options: MinioOptions = {}): Promise<Minio> {
  const dir = mkdtempSync(join(tmpdir(), 'minio-'));
  const minio = new Minio(dir, options, await freePort());
  t.teardown(async () => {
    await minio[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });
  await minio.start();
  return minio;
}

export class Minio implements AsyncDisposable {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly accessKey = `AK${randomBytes(9).toString('hex')}`;
  readonly secretKey = `SK${randomBytes(18).toString('hex')}`;
  readonly certificate: Certificate;
  readonly #dir: string;
  readonly #options: MinioOptions;
  #server: ServerProcess | undefined;

  constructor(dir: string, options: MinioOptions, port: number) {
    this.port = port;
    this.#dir = dir;
    this.#options = options;
    const certificates = this.#at('certificates');
    mkdirSync(certificates);
    this.certificate = makeCertificate(dir);
    if (!options.tls) return;
    copyFileSync(this.certificate.certFile, join(certificates, 'public.crt'));
    copyFileSync(this.certificate.keyFile, join(certificates, 'private.key'));
  }

  get tlsPort(): number {
    return this.port;
  }

  /** Also after {@link kill}, with what it kept. */
  async start(): Promise<void> {
    const { domain, amqp } = this.#options;
    const notify = amqp && {
      ENABLE: 'on',
      URL: `amqp://guest:guest@127.0.0.1:${amqp.port}`,
      EXCHANGE: amqp.exchange,
      EXCHANGE_TYPE: 'topic',
      ROUTING_KEY: amqp.key,
      DURABLE: 'on',
      DELIVERY_MODE: '2',
      // Kept here until RabbitMQ confirms it.
      QUEUE_DIR: this.#at('queue'),
      PUBLISHING_CONFIRMS: 'on',
    };
    this.#server = await ServerProcess.start({
      program: MINIO.path,
      args: [
        ...['server', this.#at('data'), '--quiet', '--address', `${this.host}:${this.port}`],
        ...['--certs-dir', this.#at('certificates')],
      ],
      env: {
        HOME: this.#dir,
        MINIO_ROOT_USER: this.accessKey,
        MINIO_ROOT_PASSWORD: this.secretKey,
        MINIO_BROWSER: 'off',
        MINIO_UPDATE: 'off',
        ...(domain === undefined ? {} : { MINIO_DOMAIN: domain }),
        ...Object.fromEntries(
          Object.entries(notify ?? {}).map(([key, value]) => [`MINIO_NOTIFY_AMQP_${key}_${QUEUE}`, value]),
        ),
      },
      log: this.#at('log'),
      ports: [this.port],
      ready: () => this.#answers(),
    });
  }

  client(): Client {
    const { host: endPoint, port, accessKey, secretKey } = this;
    const useSSL = this.#options.tls ?? false;
    const client = new Client({ endPoint, port, useSSL, accessKey, secretKey, region: 'us-east-1' });
    // Its certificate is signed by an authority of this run.
    client.setRequestOptions({ rejectUnauthorized: false });
    return client;
  }

  /** @returns the name of a new, empty bucket */
  async makeBucket(): Promise<string> {
    const name = `b-${randomBytes(6).toString('hex')}`;
    await this.client().makeBucket(name);
    return name;
  }

  /** Objects that come and go in the bucket are announced from now on. */
  async notifyAmqp(bucket: string): Promise<void> {
    const config = new NotificationConfig();
    const queue = new QueueConfig(`arn:minio:sqs::${QUEUE}:amqp`);
    queue.addEvent('s3:ObjectCreated:*');
    queue.addEvent('s3:ObjectRemoved:*');
    config.add(queue);
    for (const begun = Date.now(); ; await setTimeout(LOOK_MS)) {
      try {
        return await this.client().setBucketNotification(bucket, config);
      } catch (error) {
        // It takes requests before it knows RabbitMQ.
        if ((error as { code?: unknown }).code !== 'InvalidArgument' || Date.now() - begun > PATIENCE_MS) throw error;
      }
    }
  }

  /** Multipart uploads that have neither ended nor been aborted, of all buckets: it lists them only by the object's exact key. */
  unfinishedUploads(): readonly string[] {
    return globSync('*/*', { cwd: this.#at('data', '.minio.sys', 'multipart') });
  }

  /** With -9: what was under way is cut off. */
  async kill(): Promise<void> {
    this.#server?.signal('SIGKILL');
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  /** It listens before it takes requests. */
  async #answers(): Promise<boolean> {
    try {
      await this.client().listBuckets();
      return true;
    } catch {
      return false;
    }
  }

  #at(...names: readonly string[]): string {
    return join(this.#dir, ...names);
  }
}
