// A plugin server in the test's own process that keeps the promises of the protocol and no more: an import hands the upload
// on as it is, an install writes a row per line into the target's data database, an uninstall removes them. Calls for one
// dataset and target run one after the other; one whose caller is gone leaves no row behind. Rows know no uniqueness, so
// that what is installed twice is there twice. Every call is recorded.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import { systemClock } from '../../../engine/runtime/time.ts';
import { zipOf } from '../../fixtures/archives.ts';
import { unzip } from '../../support/unzip.ts';
import type { Teardowns } from './teardowns.ts';

export interface RowPluginOptions {
  /** Time that an import takes, in milliseconds. */
  readonly importMs: number;
  /** Time that an install or uninstall takes. */
  readonly installMs: number;
}

type CallKind = 'import' | 'install-data' | 'install-meta' | 'uninstall';

interface Call {
  readonly kind: CallKind;
  /** The caller did not wait for the answer: nothing was written. */
  cut: boolean;
}

/** Of a target. */
export interface DataDatabase {
  readonly schema: string;
  readonly connection: pg.ClientConfig;
}

interface Details {
  readonly 'vdi-id': string;
  readonly 'install-target'?: string;
}

const never = new AbortController().signal;
const FILE = 'genes.txt';
/** A put of one row each. */
export const TABLE = 'scale_out_gene';

export class RowPlugin {
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #pools = new Map<string, { readonly pool: pg.Pool; readonly schema: string }>();
  readonly #turns = new Map<string, Promise<void>>();
  /** By dataset, or by dataset and target, in the order in which they ran. */
  readonly calls = new Map<string, Call[]>();
  /** Calls that could not be served: the fault of the test, or a caller that does not speak the protocol. */
  readonly faults: string[] = [];
  readonly #options: RowPluginOptions;
  #held = Promise.withResolvers<void>();

  private constructor(options: RowPluginOptions) {
    this.#options = options;
    this.#held.resolve();
  }

  static async open(t: Teardowns, options: RowPluginOptions): Promise<RowPlugin> {
    const plugin = new RowPlugin(options);
    plugin.#server.listen(0, '127.0.0.1');
    await once(plugin.#server, 'listening');
    t.teardown(() => plugin.#close());
    return plugin;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async use(target: string, { schema, connection }: DataDatabase): Promise<void> {
    const pool = new pg.Pool({ ...connection, max: 8 });
    pool.on('error', (error) => this.faults.push(`a connection to ${target}: ${error.message}`));
    this.#pools.set(target, { pool, schema: pg.escapeIdentifier(schema) });
    await pool.query(
      `create table ${pg.escapeIdentifier(schema)}.${TABLE} (dataset_id text not null, gene text not null)`,
    );
    await pool.query(`create index on ${pg.escapeIdentifier(schema)}.${TABLE} (dataset_id)`);
  }

  /** Imports are taken on and not answered until they are released. */
  hold(): void {
    this.#held = Promise.withResolvers();
  }

  release(): void {
    this.#held.resolve();
  }

  async #close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await Promise.all([...this.#turns.values()]);
    for (const { pool } of this.#pools.values()) await pool.end();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await buffer(request);
      await this.#answer(request, response, body);
    } catch (error) {
      // A caller that was killed while it sent is no fault.
      if (!request.complete || response.destroyed) return;
      this.faults.push(`${request.url}: ${error instanceof Error ? error.stack : error}`);
      response.writeHead(500).end(JSON.stringify({ message: String(error) }));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const kind = (request.url ?? '').slice(1).replace('/', '-');
    if (kind === 'service-info') return void response.end('{}');
    const form = kind === 'uninstall' ? undefined : await formOf(request, body);
    const details = JSON.parse(form ? String(form.get('details')) : body.toString()) as Details;
    const { 'vdi-id': dataset, 'install-target': target } = details;
    const key = target === undefined ? dataset : `${dataset} ${target}`;
    await this.#inTurn(key, async () => {
      const call: Call = { kind: kind as CallKind, cut: false };
      const calls = this.calls.get(key) ?? [];
      this.calls.set(key, calls);
      calls.push(call);
      const gone = (): boolean => response.destroyed || request.socket.destroyed;
      const payload = form?.get('payload');
      const bytes = payload instanceof Blob ? Buffer.from(await payload.arrayBuffer()) : undefined;
      const answer = await this.#run(call.kind, dataset, target ?? '', bytes, gone);
      call.cut = answer === undefined;
      if (answer !== undefined) response.end(answer);
    });
  }

  async #inTurn(key: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(key);
    const turn = Promise.withResolvers<void>();
    this.#turns.set(key, turn.promise);
    try {
      await before;
      await work();
    } finally {
      turn.resolve();
      if (this.#turns.get(key) === turn.promise) this.#turns.delete(key);
    }
  }

  /** Undefined when the caller is gone and nothing was done. */
  async #run(
    kind: CallKind,
    dataset: string,
    target: string,
    payload: Buffer | undefined,
    gone: () => boolean,
  ): Promise<string | Buffer | undefined> {
    if (kind === 'import') await this.#held.promise;
    await systemClock.sleep(kind === 'import' ? this.#options.importMs : this.#options.installMs, never);
    if (gone()) return undefined;
    if (kind === 'import' && payload) return importReply(payload);
    if (kind === 'install-meta') return '{}';
    const genes = payload ? await genesOf(payload) : [];
    return (await this.#write(kind, dataset, target, genes, gone)) ? '{}' : undefined;
  }

  async #write(
    kind: CallKind,
    dataset: string,
    target: string,
    genes: readonly string[],
    gone: () => boolean,
  ): Promise<boolean> {
    const at = this.#pools.get(target);
    if (!at) throw new Error(`no target ${target}`);
    const client = await at.pool.connect();
    try {
      await client.query('begin');
      if (kind === 'uninstall')
        await client.query(`delete from ${at.schema}.${TABLE} where dataset_id = $1`, [dataset]);
      else
        await client.query(`insert into ${at.schema}.${TABLE} select $1, gene from unnest($2::text[]) gene`, [
          dataset,
          genes,
        ]);
      const wanted = !gone();
      await client.query(wanted ? 'commit' : 'rollback');
      return wanted;
    } finally {
      client.release();
    }
  }
}

const formOf = (request: IncomingMessage, body: Buffer): Promise<FormData> =>
  new Response(Uint8Array.from(body), {
    headers: { 'content-type': request.headers['content-type'] ?? '' },
  }).formData() as Promise<FormData>;

async function genesOf(zip: Buffer): Promise<readonly string[]> {
  return ((await unzip(zip)).get(FILE)?.toString() ?? '').split('\n').filter((line) => line !== '');
}

async function importReply(payload: Buffer): Promise<Buffer> {
  const file = (await unzip(payload)).get(FILE);
  if (!file) throw new Error(`the upload has no ${FILE}`);
  const manifest = { rawUploads: [], installReady: [{ name: FILE, size: file.length }] };
  const data = await zipOf({ [FILE]: file });
  return zipOf({ 'vdi-manifest.json': JSON.stringify(manifest), 'warnings.json': '{}', 'data.zip': data });
}
