// A mail server for tests: takes mails, or answers a command as it is told to. Speaks STARTTLS when it has a certificate.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LOCALHOST_CERT, LOCALHOST_KEY } from '../fixtures/certificate.ts';

export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Head and body as sent. */
  readonly content: string;
  readonly encrypted: boolean;
}

export interface SmtpServer {
  readonly port: number;
  readonly mails: readonly TakenMail[];
  /** Answers to commands that start so, such as `RCPT TO:<a@b>` or `DATA`, instead of the usual ones. */
  readonly answers: Map<string, string>;
  /** While true, every connection is closed at once. */
  away: boolean;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

const tlsOptions = { isServer: true, cert: LOCALHOST_CERT, key: LOCALHOST_KEY };

/** @param security of the server: plain, able to STARTTLS, or encrypted from the start */
export async function smtpServer(t: Teardown, security: 'none' | 'starttls' | 'tls' = 'none'): Promise<SmtpServer> {
  const mails: TakenMail[] = [];
  const answers = new Map<string, string>();
  const sockets = new Set<Socket>();
  const server = createServer((raw) => {
    sockets.add(raw);
    raw.on('error', () => undefined);
    if (smtp.away) {
      raw.destroy();
      return;
    }
    const socket = security === 'tls' ? new TLSSocket(raw, tlsOptions) : raw;
    socket.write('220 test\r\n');
    new Session(socket, security === 'starttls', security === 'tls', mails, answers).listen();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const smtp: SmtpServer = { port: (server.address() as AddressInfo).port, mails, answers, away: false };
  return smtp;
}

class Session {
  #socket: Socket;
  readonly #offersTls: boolean;
  #encrypted: boolean;
  readonly #mails: TakenMail[];
  readonly #answers: ReadonlyMap<string, string>;
  #buffered = '';
  #from = '';
  #to: string[] = [];
  #inContent = false;

  constructor(
    socket: Socket,
    offersTls: boolean,
    encrypted: boolean,
    mails: TakenMail[],
    answers: ReadonlyMap<string, string>,
  ) {
    this.#socket = socket;
    this.#offersTls = offersTls;
    this.#encrypted = encrypted;
    this.#mails = mails;
    this.#answers = answers;
  }

  listen(): void {
    const socket = this.#socket;
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      if (socket !== this.#socket) return;
      this.#buffered += bytes.toString('latin1');
      this.#read();
    });
  }

  #read(): void {
    for (;;) {
      const end = this.#inContent ? '\r\n.\r\n' : '\r\n';
      const at = this.#buffered.indexOf(end);
      if (at < 0) return;
      const text = this.#buffered.slice(0, at);
      this.#buffered = this.#buffered.slice(at + end.length);
      if (this.#inContent) this.#take(text);
      else this.#command(text);
    }
  }

  #take(content: string): void {
    this.#inContent = false;
    const answer = this.#told('.') ?? '250 taken';
    if (answer.startsWith('2'))
      this.#mails.push({ from: this.#from, to: this.#to, content, encrypted: this.#encrypted });
    this.#say(answer);
  }

  #command(line: string): void {
    const address = /<(.*)>/.exec(line)?.[1] ?? '';
    const verb = line.split(/[ :]/, 1)[0]?.toUpperCase() ?? '';
    const told = this.#told(line);
    if (told !== undefined) {
      this.#say(told);
      return;
    }
    if (verb === 'STARTTLS' && this.#offersTls) {
      this.#encrypt();
      return;
    }
    if (verb === 'MAIL') {
      this.#from = address;
      this.#to = [];
    }
    if (verb === 'RCPT') this.#to.push(address);
    if (verb === 'DATA') this.#inContent = true;
    this.#say(this.#usualAnswer(verb));
    if (verb === 'QUIT') this.#socket.end();
  }

  #usualAnswer(verb: string): string {
    const offers = this.#offersTls && !this.#encrypted;
    const usual: Readonly<Record<string, string>> = {
      EHLO: offers ? '250-test\r\n250 STARTTLS' : '250 test',
      DATA: '354 go on',
      QUIT: '221 bye',
    };
    return usual[verb] ?? (['MAIL', 'RCPT', 'RSET', 'NOOP'].includes(verb) ? '250 ok' : '502 unknown');
  }

  #encrypt(): void {
    this.#say('220 go on');
    this.#encrypted = true;
    const raw = this.#socket;
    raw.removeAllListeners('data');
    this.#socket = new TLSSocket(raw, tlsOptions);
    this.listen();
  }

  #told(line: string): string | undefined {
    return [...this.#answers].find(([start]) => line.startsWith(start))?.[1];
  }

  #say(answer: string): void {
    this.#socket.write(`${answer}\r\n`);
  }
}
