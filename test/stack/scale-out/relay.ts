// A way to a server over TCP that can go away while both ends live on:
//   open   bytes flow
//   cut    connections are broken, new ones are broken at once
//   hung   connections stay and are taken, no byte flows; what was sent meanwhile arrives afterwards

import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export class Relay {
  readonly host = '127.0.0.1';
  readonly #upstream: { readonly host: string; readonly port: number };
  readonly #server = createServer({ pauseOnConnect: true }, (client) => this.#accept(client));
  readonly #sockets = new Set<Socket>();
  #state: 'open' | 'cut' | 'hung' = 'open';

  private constructor(upstream: { readonly host: string; readonly port: number }) {
    this.#upstream = upstream;
  }

  static async open(t: Teardown, upstream: { readonly host: string; readonly port: number }): Promise<Relay> {
    const relay = new Relay(upstream);
    relay.#server.listen(0, relay.host);
    await once(relay.#server, 'listening');
    t.teardown(() => {
      relay.cut();
      relay.#server.close();
    });
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    this.#state = 'cut';
    for (const socket of this.#sockets) socket.destroy();
  }

  hang(): void {
    this.#state = 'hung';
    for (const socket of this.#sockets) socket.pause();
  }

  restore(): void {
    this.#state = 'open';
    for (const socket of this.#sockets) socket.resume();
  }

  #accept(client: Socket): void {
    if (this.#state === 'cut') {
      client.destroy();
      return;
    }
    const server = dial(this.#upstream.port, this.#upstream.host);
    this.#join(client, server);
    this.#join(server, client);
    for (const socket of [client, server])
      if (this.#state === 'open') socket.resume();
      else socket.pause();
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    // Small messages of a database: what a slow reader leaves is held in memory.
    from.on('data', (bytes: Buffer) => to.write(bytes));
    from.on('error', () => undefined);
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
