// A plugin server over plain HTTP that imports whatever it is given, or takes every call on and never answers.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { zipOf } from '../fixtures/archives.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export class ImportServer {
  /** How often each dataset's import was asked for. */
  readonly calls = new Map<string, number>();
  answers: boolean;
  /** How it refuses a dataset; undefined = it does not. */
  refusal: (dataset: string) => { readonly status: number; readonly text: string } | undefined = () => undefined;
  readonly #server = createServer((request, response) => void this.#take(request, response));
  readonly #reply: Buffer;
  readonly #asked = new EventTarget();

  private constructor(reply: Buffer, answers: boolean) {
    this.#reply = reply;
    this.answers = answers;
  }

  /** Closed with the test, and with it the calls that it holds. */
  static async open(t: Teardown, options: { readonly answers: boolean }): Promise<ImportServer> {
    const file = 'PF3D7_0100100\n';
    const manifest = { rawUploads: [], installReady: [{ name: 'genes.txt', size: file.length }] };
    const data = await zipOf({ 'genes.txt': file });
    const reply = { 'vdi-manifest.json': JSON.stringify(manifest), 'warnings.json': '{}', 'data.zip': data };
    const server = new ImportServer(await zipOf(reply), options.answers);
    t.teardown(() => server.#close());
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  /** Resolves once imports of so many datasets were asked for. */
  async called(datasets: number): Promise<void> {
    while (this.calls.size < datasets) await once(this.#asked, 'call');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async #close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url !== '/import') {
      // At start we ask whether it is there.
      if (this.answers) response.end();
      return;
    }
    const dataset = /"vdi-id":"([^"]+)"/.exec(await text(request))?.[1] ?? '';
    this.calls.set(dataset, (this.calls.get(dataset) ?? 0) + 1);
    this.#asked.dispatchEvent(new Event('call'));
    const refusal = this.refusal(dataset);
    if (refusal) response.writeHead(refusal.status).end(refusal.text);
    else if (this.answers) response.end(this.#reply);
  }
}
