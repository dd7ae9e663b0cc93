// A way to a PostgreSQL server that numbers the statements that go through it, and cuts the line at one of them:
//   before     the statement does not reach the server
//   after      the server has done it, its answer is lost
// Either the one connection is cut, or all of them for good, as when the process behind them is killed. Or the connection stays,
// and nothing goes through it any more, as when the server's machine has lost its power.

import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

export interface Cut {
  /** Number of the statement, from 1, counted from when the cut is set. */
  readonly at: number;
  readonly when: 'before' | 'after';
  readonly ends: 'connection' | 'process' | 'answers';
}

export interface PostgresProxy {
  readonly port: number;
  /** The statements that were sent since the last `watch` or `cut`, in order. */
  readonly statements: readonly string[];
  /** Forgets the statements so far; nothing is cut. */
  watch(): void;
  cut(cut: Cut): void;
  /** Whether the statement of the cut was reached. */
  readonly struck: boolean;
  /** Whether the process behind it was killed. */
  readonly ended: boolean;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

export async function postgresProxy(t: Teardown, server: { readonly port: number }): Promise<PostgresProxy> {
  const proxy = new NumberingProxy(server.port);
  await proxy.listen();
  t.teardown(() => proxy.close());
  return proxy;
}

class NumberingProxy implements PostgresProxy {
  readonly #upstream: number;
  readonly #server = createServer((client) => this.#accept(client));
  readonly #links = new Set<Link>();
  #cut: Cut | undefined;
  ended = false;
  statements: string[] = [];
  struck = false;

  constructor(upstream: number) {
    this.#upstream = upstream;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  close(): void {
    this.#end();
    this.#server.close();
  }

  watch(): void {
    this.statements = [];
    this.#cut = undefined;
    this.ended = false;
    this.struck = false;
  }

  cut(cut: Cut): void {
    this.watch();
    this.#cut = cut;
  }

  #accept(client: Socket): void {
    if (this.ended) {
      client.destroy();
      return;
    }
    const link = new Link(client, dial(this.#upstream, '127.0.0.1'), (text, one) => this.#pass(text, one));
    this.#links.add(link);
    client.on('close', () => this.#links.delete(link));
  }

  /** What becomes of the statement. */
  #pass(text: string, link: Link): 'forward' | 'drop' {
    this.statements.push(text);
    const cut = this.#cut;
    if (!cut || this.struck || this.statements.length !== cut.at) return 'forward';
    this.struck = true;
    const end = (): void => {
      if (cut.ends === 'answers') link.isSilent = true;
      else if (cut.ends === 'process') this.#end();
      else link.end();
    };
    if (cut.when === 'after') link.onAnswer = end;
    else end();
    return cut.when === 'after' ? 'forward' : 'drop';
  }

  #end(): void {
    this.ended = true;
    for (const link of this.#links) link.end();
  }
}

const READY = 0x5a;

/** One connection; it reads the messages of both sides as far as it has to. */
class Link {
  /** Instead of the next answer, once the server has sent it whole. */
  onAnswer: (() => void) | undefined;
  /** What arrives from now on goes no further. */
  isSilent = false;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #pass: (text: string, link: Link) => 'forward' | 'drop';
  readonly #prepared = new Map<string, string>();

  constructor(client: Socket, server: Socket, pass: (text: string, link: Link) => 'forward' | 'drop') {
    this.#client = client;
    this.#server = server;
    this.#pass = pass;
    const asked = new Messages(true);
    client.on('data', (bytes: Buffer) => {
      for (const message of asked.read(bytes)) if (!this.#ask(message)) return;
    });
    const answered = new Messages(false);
    server.on('data', (bytes: Buffer) => {
      for (const message of answered.read(bytes)) if (!this.#answer(message)) return;
    });
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => this.end());
    }
  }

  end(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  #ask(message: Buffer): boolean {
    if (this.isSilent) return false;
    const text = this.#statement(message);
    if (text !== undefined && this.#pass(text, this) === 'drop') return false;
    this.#server.write(message);
    return true;
  }

  /** Of a simple query, or of the values of a prepared one; undefined when the message runs nothing. */
  #statement(message: Buffer): string | undefined {
    const [first = '', second = ''] = message.subarray(5).toString('utf8').split('\0', 2);
    switch (String.fromCharCode(message[0] ?? 0)) {
      case 'Q':
        return first;
      case 'P':
        this.#prepared.set(first, second);
        return undefined;
      case 'B':
        return this.#prepared.get(second);
      default:
        return undefined;
    }
  }

  #answer(message: Buffer): boolean {
    if (this.isSilent) return false;
    if (!this.onAnswer) {
      this.#client.write(message);
      return true;
    }
    if (message[0] !== READY) return true;
    this.onAnswer();
    return false;
  }
}

/** Cuts what arrives into messages: a letter, four bytes of length, and the rest; the first of a client has no letter. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #first: boolean;

  constructor(startsWithoutLetter: boolean) {
    this.#first = startsWithoutLetter;
  }

  *read(bytes: Buffer): Generator<Buffer> {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const letter = this.#first ? 0 : 1;
      if (this.#rest.length < letter + 4) return;
      const length = letter + this.#rest.readUInt32BE(letter);
      if (this.#rest.length < length) return;
      const message = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      this.#first = false;
      yield message;
    }
  }
}
