// What the rows of small and large datasets measure: the product, or its twin. Both take the same uploads over HTTP and keep
// `install_status (dataset_id, target_id, kind, status)`, in which it shows when a dataset is installed.

import { createCipheriv } from 'node:crypto';
import { Readable } from 'node:stream';
import type pg from 'pg';
import { Client, type Dispatcher, Response } from 'undici';
import { systemClock } from '../../engine/runtime/time.ts';
import { detailsOf, formOf } from '../support/api.ts';

export const FILE = 'genes.txt';
export const GENES = 'PF3D7_0100100\nPF3D7_0100200\nPF3D7_0100300\n';
export const TYPE = 'genelist';
/** Owners of the datasets. */
export const USERS = Array.from({ length: 20 }, (_, n) => String(4242 + n));
const CONNECTIONS = 8;
const BOUNDARY = 'longshore-bench';
const PATIENCE_MS = 15 * 60_000;

export interface Started extends AsyncDisposable {
  /** Where datasets are posted. */
  readonly url: string;
  /** Bearer tokens of {@link USERS}. */
  readonly tokens: readonly string[];
  readonly targets: readonly string[];
  /** On the database that has `install_status`. */
  readonly sql: pg.Client;
  /** All processes except for scripts; PostgreSQL's own process is the one that `postmaster` names. */
  processes(): readonly number[];
  readonly postmaster: number;
  /** The process that serves HTTP. */
  readonly server: number;
  /** Whether anything is left to do for datasets that are installed. */
  busy(): Promise<boolean>;
}

/** Large datasets are mostly compressed already. Bytes that deflate shrinks would hide most of what the product writes. */
const incompressible = (bytes: number): Buffer =>
  createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(bytes));

export class Subject implements AsyncDisposable {
  readonly at: Started;
  readonly #clients: readonly Client[];
  #uploads = 0;
  /** Statements that {@link installed} and {@link idle} have sent: they are not the subject's. */
  looks = 0;

  constructor(at: Started) {
    this.at = at;
    this.#clients = Array.from(
      { length: CONNECTIONS },
      () => new Client(at.url, { bodyTimeout: 0, headersTimeout: 0 }),
    );
  }

  /** Uploads so many small datasets, some at once; their ids when all have been accepted. */
  async upload(count: number, lost?: (error: unknown) => Promise<void>): Promise<readonly string[]> {
    const details = detailsOf(TYPE, { installTargets: this.at.targets });
    const request = new Response(formOf(details, [{ name: FILE, content: GENES }]));
    const type = request.headers.get('content-type') ?? '';
    const body = Buffer.from(await request.arrayBuffer());
    const ids: string[] = [];
    const worker = async (client: Client): Promise<void> => {
      while (count-- > 0)
        try {
          ids.push(await this.#post(client, type, body));
        } catch (error) {
          if (!lost) throw error;
          await lost(error);
          count++;
        }
    };
    const first = this.#uploads;
    const clients = this.#clients.map((_, n, all) => all[(first + n) % all.length] as Client);
    await Promise.all(clients.slice(0, count).map(worker));
    return ids;
  }

  /** Uploads a file of so many MiB; its id when it has been accepted. */
  async uploadLarge(mib: number): Promise<string> {
    const block = incompressible(1024 ** 2);
    const part = (name: string, rest: string): string =>
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"; ${rest}\r\n\r\n`;
    const details = JSON.stringify(detailsOf(TYPE, { installTargets: this.at.targets }));
    function* body(): Generator<Buffer> {
      yield Buffer.from(part('details', `filename="details.json"\r\ncontent-type: application/json`) + details);
      yield Buffer.from(`\r\n${part('dataFile', `filename="${FILE}"`)}`);
      for (let i = 0; i < mib; i++) yield block;
      yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
    }
    const [client] = this.#clients as [Client];
    return await this.#post(client, `multipart/form-data; boundary=${BOUNDARY}`, Readable.from(body()));
  }

  async #post(client: Client, type: string, body: Buffer | Readable): Promise<string> {
    const token = this.at.tokens[this.#uploads++ % this.at.tokens.length];
    const options: Dispatcher.RequestOptions = { method: 'POST', path: '/datasets', body };
    const headers = { authorization: `Bearer ${token}`, 'content-type': type };
    const { statusCode, body: answer } = await client.request({ ...options, headers });
    if (statusCode !== 202) throw new Error(`POST /datasets: ${statusCode} ${await answer.text()}`);
    return ((await answer.json()) as { datasetId: string }).datasetId;
  }

  /** Waits until all of them are installed on all targets, looking every so many ms. */
  async installed(datasets: readonly string[], lookMs: number): Promise<void> {
    await this.#until('installed', lookMs, () => this.isInstalled(datasets));
  }

  async isInstalled(datasets: readonly string[]): Promise<boolean> {
    const { rows } = await this.at.sql.query<{ status: string; count: number }>({
      name: 'installed',
      text: `select status, count(*)::integer as count from install_status
        where dataset_id = any ($1::text[]) group by status`,
      values: [datasets],
    });
    const failed = rows.find(({ status }) => !['queued', 'running', 'complete'].includes(status));
    if (failed) throw new Error(`${failed.count} installs are ${failed.status}`);
    const complete = rows.find(({ status }) => status === 'complete')?.count ?? 0;
    return complete === datasets.length * this.at.targets.length * 2;
  }

  /** Waits until nothing is left to do. */
  idle(): Promise<void> {
    return this.#until('idle', 20, async () => !(await this.at.busy()));
  }

  async #until(what: string, lookMs: number, isSo: () => Promise<boolean>): Promise<void> {
    for (const late = systemClock.now() + PATIENCE_MS; ; await systemClock.sleep(lookMs)) {
      this.looks++;
      if (await isSo()) return;
      if (systemClock.now() > late) throw new Error(`not ${what} after ${PATIENCE_MS} ms`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.destroy();
    await this.at[Symbol.asyncDispose]();
  }
}
