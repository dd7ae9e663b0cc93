// A way to a server over TCP that counts the bytes of clients, and strikes once at a chosen byte: it breaks all connections, and
// takes none until it is opened again.

import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

export class CountingRelay {
  /** Bytes that clients have sent and that went on to the server. */
  bytes = 0;
  readonly #upstream: number;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((client) => this.#accept(client));
  #strike: { readonly at: number; readonly struck: () => void } | undefined;
  #open = true;

  private constructor(upstream: number) {
    this.#upstream = upstream;
  }

  static async open(t: { teardown(fn: () => unknown): void }, upstream: number): Promise<CountingRelay> {
    const relay = new CountingRelay(upstream);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    t.teardown(() => {
      relay.close();
      relay.#server.close();
    });
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resolves when so many bytes have gone through; by then no byte goes through any more. */
  struckAt(bytes: number): Promise<void> {
    return new Promise((struck) => {
      this.#strike = { at: bytes, struck };
    });
  }

  close(): void {
    this.#open = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  reopen(): void {
    this.#open = true;
  }

  #accept(client: Socket): void {
    client.on('error', () => undefined);
    if (!this.#open) return void client.destroy();
    const server = dial(this.#upstream, '127.0.0.1');
    server.on('error', () => undefined);
    for (const socket of [client, server]) this.#sockets.add(socket);
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
    server.pipe(client);
    client.on('data', (bytes: Buffer) => {
      this.bytes += bytes.length;
      const strike = this.#strike;
      if (strike && this.bytes >= strike.at) {
        this.#strike = undefined;
        this.close();
        strike.struck();
      } else if (!server.write(bytes)) {
        client.pause();
        server.once('drain', () => client.resume());
      }
    });
    client.once('end', () => server.end());
  }
}
