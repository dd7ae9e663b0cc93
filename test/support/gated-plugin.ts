// A plugin server over plain HTTP whose imports wait at a gate: the test sees how many are there at once and lets them
// through. Whatever else it is asked succeeds at once.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { zipOf } from '../fixtures/archives.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export class GatedPlugin {
  /** How often each call was made: `/import ID`, `/install/data ID`, .. */
  readonly calls = new Map<string, number>();
  /** Most imports at the gate at once, since it was last set. */
  most = 0;
  #open = false;
  readonly #waiting: ServerResponse[] = [];
  readonly #reply: Buffer;
  readonly #server = createServer((request, response) => void this.#take(request, response));
  #crowd: { readonly count: number; readonly reached: () => void } | undefined;

  private constructor(reply: Buffer) {
    this.#reply = reply;
  }

  /** Closed with the test, and with it the calls that it holds. */
  static async start(t: Teardown): Promise<GatedPlugin> {
    const file = 'PF3D7_0100100\n';
    const manifest = { rawUploads: [], installReady: [{ name: 'genes.txt', size: file.length }] };
    const data = await zipOf({ 'genes.txt': file });
    const reply = { 'vdi-manifest.json': JSON.stringify(manifest), 'warnings.json': '{}', 'data.zip': data };
    const plugin = new GatedPlugin(await zipOf(reply));
    t.teardown(() => plugin.#close());
    plugin.#server.listen(0, '127.0.0.1');
    await once(plugin.#server, 'listening');
    return plugin;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Imports at the gate. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves once so many are at the gate at once. */
  async crowd(count: number): Promise<void> {
    if (this.waiting >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#crowd = { count, reached: resolve };
    await promise;
  }

  /** Lets the oldest through. */
  release(count: number): void {
    for (const response of this.#waiting.splice(0, count)) response.end(this.#reply);
  }

  /** No import waits any more. */
  open(): void {
    this.#open = true;
    this.release(this.waiting);
  }

  async #close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const dataset = /"vdi-id":"([^"]+)"/.exec(await text(request))?.[1];
    // Without one it is asked whether it is there.
    if (dataset === undefined) return void response.end();
    const call = `${request.url} ${dataset}`;
    this.calls.set(call, (this.calls.get(call) ?? 0) + 1);
    if (request.url !== '/import') return void response.end();
    this.#waiting.push(response);
    this.most = Math.max(this.most, this.waiting);
    if (this.#crowd && this.waiting >= this.#crowd.count) this.#crowd.reached();
    if (this.#open) this.release(this.waiting);
  }
}
