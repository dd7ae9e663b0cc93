// Stands between clients and a broker that tells them this address as its own. It breaks connections where a test wants them
// broken: in place of a request, which the broker never sees.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Numbers of the protocol. */
const API = { produce: 0, offsetCommit: 8 } as const;
type Api = keyof typeof API;

/** A request begins with its length, its kind and version, its own number, and the length of its client's name. */
const AT = { kind: 4, nameLength: 12, name: 14 } as const;

interface Break {
  readonly at: Api;
  readonly client: string;
  left: number;
  readonly done: () => void;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

export class KafkaRelay {
  readonly #server = createServer((client) => this.#serve(client));
  readonly #sockets = new Set<Socket>();
  readonly #to: number;
  readonly #breaks = new Set<Break>();

  private constructor(to: number) {
    this.#to = to;
  }

  static async open(t: Teardown, at: number, to: number): Promise<KafkaRelay> {
    const relay = new KafkaRelay(to);
    relay.#server.listen(at, '127.0.0.1');
    await once(relay.#server, 'listening');
    t.teardown(() => relay.#close());
    return relay;
  }

  /** The connections that bring the client's next requests of that kind break; resolves when they have. */
  breakAt(at: Api, client: string, times = 1): Promise<void> {
    return new Promise((done) => {
      this.#breaks.add({ at, client, left: times, done });
    });
  }

  #serve(client: Socket): void {
    const broker = connect(this.#to, '127.0.0.1');
    for (const end of [client, broker]) {
      this.#sockets.add(end);
      end.on('error', () => undefined);
      end.once('close', () => {
        this.#sockets.delete(end);
        client.destroy();
        broker.destroy();
      });
    }
    broker.pipe(client);
    let waiting = Buffer.alloc(0);
    client.on('data', (bytes: Buffer): void => {
      waiting = Buffer.concat([waiting, bytes]);
      for (let end = requestEnd(waiting); end !== undefined; end = requestEnd(waiting)) {
        if (this.#breaksAt(waiting)) return void client.destroy();
        broker.write(waiting.subarray(0, end));
        waiting = waiting.subarray(end);
      }
    });
  }

  #breaksAt(request: Buffer): boolean {
    const kind = request.readInt16BE(AT.kind);
    const name = request.subarray(AT.name, AT.name + request.readInt16BE(AT.nameLength)).toString();
    for (const one of this.#breaks) {
      if (API[one.at] !== kind || one.client !== name) continue;
      if (--one.left === 0) {
        this.#breaks.delete(one);
        one.done();
      }
      return true;
    }
    return false;
  }

  #close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** Undefined until the whole request is there. */
function requestEnd(bytes: Buffer): number | undefined {
  if (bytes.length < AT.kind) return undefined;
  const end = AT.kind + bytes.readInt32BE(0);
  return bytes.length < end ? undefined : end;
}
