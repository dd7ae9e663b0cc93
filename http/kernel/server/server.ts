// The listener of a front end: one port, with limits on everything that a client controls.
//   start    listens                         quiet   new requests get 503, except for health, readiness and metrics
//   stop     no new connections; waits for responses under way, and cuts them off shortly before the deadline

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TlsOptions } from 'node:tls';
import { Actor, type ActorOptions } from '../../../engine/runtime/actor.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { LinkedControllers } from '../../../engine/runtime/joined-signal.ts';
import { HeldResponse } from '../answers/held-response.ts';
import { JSON_TYPE } from '../answers/json-text.ts';
import { SendRoom } from '../answers/sending.ts';
import type { HttpMetrics } from '../pipeline/http-metrics.ts';
import type { RequestPipeline } from '../pipeline/request-pipeline.ts';
import { type ConnectionLimits, Connections } from './connections.ts';

export interface ServerLimits extends ConnectionLimits {
  readonly maxHeaderSize: number;
  readonly handshakeTimeoutMs: number;
  readonly headerTimeoutMs: number;
}

interface ServerOptions extends ActorOptions {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly tls?: Certificate | undefined;
  readonly limits: ServerLimits;
  /** Whether this is the address of one of our proxies. */
  readonly isProxy: (address: string) => boolean;
  readonly metrics: Pick<HttpMetrics, 'cut'>;
  readonly pipeline: RequestPipeline;
}

export class HttpServer extends Actor {
  readonly #options: ServerOptions;
  readonly #server: Server<typeof IncomingMessage, typeof HeldResponse>;
  /** Number of requests whose handler runs or whose response is not sent. */
  #underWay = 0;
  #onFinished: () => void = () => {};
  readonly #underWayUntil = new LinkedControllers(this.hurried);
  readonly #connections: Connections;
  readonly #sendRoom: SendRoom;

  constructor(options: ServerOptions) {
    super(options);
    this.#options = options;
    const { limits, tls, clock, isProxy, metrics } = options;
    // The other half is for other kinds of responses.
    this.#sendRoom = new SendRoom(limits.maxUnsentSize / 2);
    this.#connections = new Connections(limits, {
      clock,
      isProxy,
      onCut: (reason) => metrics.cut(reason),
    });
    const settings = {
      ServerResponse: HeldResponse,
      maxHeaderSize: limits.maxHeaderSize,
      headersTimeout: limits.headerTimeoutMs,
      // A slow upload is allowed as long as it makes progress. The socket's timeout ends one that does not.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(limits.headerTimeoutMs, 5_000),
      // The pipeline refuses such a request with an error body.
      requireHostHeader: false,
    };
    this.#server = tls
      ? createTlsServer({ ...settings, ...listenerTls(tls, limits.handshakeTimeoutMs) })
      : createServer(settings);
    this.#server.timeout = limits.idleTimeoutMs;
    // `close` calls this. Node's own version would also close connections whose response is written but not yet sent.
    this.#server.closeIdleConnections = () => this.#connections.closeUnused();
    this.#server.on('connection', (socket: Socket) => this.#connections.add(socket));
    if (tls) this.#server.on('secureConnection', (socket: Socket) => this.#connections.secured(socket));
    this.#server.on('timeout', (socket: Socket) => this.#connections.onIdleTimeout(socket));
    this.#server.on('clientError', (error, socket) => this.#refuse(error, socket));
    this.#server.on('request', (request, response) => this.#arrived(request, response));
    this.#server.on('checkExpectation', (request, response) => this.#arrived(request, response));
    this.#server.on('checkContinue', (request, response) =>
      this.#arrived(request, response, () => response.writeContinue()),
    );
    this.draining.addEventListener('abort', () => options.pipeline.drain());
  }

  /** The port on which it listens; 0 before the start. */
  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  protected override async open(signal: AbortSignal): Promise<void> {
    const { host, port } = this.#options;
    this.#server.listen({ host, port });
    try {
      await once(this.#server, 'listening', { signal });
    } catch (cause) {
      this.#server.close();
      if (signal.aborted) throw signal.reason;
      throw transient(`${this.name}: cannot listen on ${host}:${port} (${(cause as NodeJS.ErrnoException).code})`, {
        cause,
      });
    }
    this.log.info({ host, port: this.port }, 'listening');
  }

  protected override async work(): Promise<void> {
    const failed = once(this.#server, 'error').then(([error]) => {
      throw error;
    });
    failed.catch(() => undefined);
    await Promise.race([aborts(this.stopping), failed]);
    this.#server.close();
    const finished = new Promise<void>((resolve) => {
      this.#onFinished = resolve;
    });
    if (this.#underWay > 0) await Promise.race([finished, aborts(this.ended)]);
    this.#closeAll();
  }

  override kill(): void {
    super.kill();
    this.#closeAll();
  }

  #closeAll(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#connections.closeAll();
  }

  #arrived(request: IncomingMessage, response: HeldResponse, mayContinue?: () => void): void {
    this.#connections.arrived({ request, response }, () => this.#take(request, response, mayContinue));
  }

  /** A response is finished when its last byte was passed to the operating system, not when it was buffered. */
  #take(request: IncomingMessage, response: HeldResponse, mayContinue?: () => void): void {
    response.room = this.#sendRoom;
    this.#underWay++;
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    const handled = this.#options.pipeline
      .handle(request, response, this.#underWayUntil, mayContinue)
      .then(() => this.#connections.answered(request.socket));
    void Promise.all([closed, handled]).then(() => {
      if (--this.#underWay === 0) this.#onFinished();
    });
  }

  /** Responds to bytes that are not an HTTP request with the contract's error body, if a response is possible. */
  #refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    // Before the end of the TLS handshake, no response can be sent.
    if (!socket.writable || !this.#connections.isFree(socket as Socket)) {
      socket.destroy();
      return;
    }
    const code = codeOf(error);
    const body = JSON.stringify({
      status: 'bad-request',
      message: `${STATUS_CODES[code]}: the request cannot be read`,
    });
    const { standing } = this.#options.pipeline;
    const head = [
      `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
      'connection: close',
      `content-type: ${JSON_TYPE}`,
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${randomUUID()}`,
      ...Object.entries(standing).map(([name, value]) => `${name}: ${value}`),
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    (socket as Socket).destroySoon();
  }
}

function codeOf(error: NodeJS.ErrnoException): number {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return 431;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return 413;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 408;
    default:
      return 400;
  }
}

function aborts(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

interface Certificate {
  /** The certificate chain in PEM format. */
  readonly cert: string;
  readonly key: string;
}

const CIPHERS = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
].join(':');

/**
 * TLS 1.3, and the cipher suites of TLS 1.2 with forward secrecy and authenticated encryption. All maintained clients support
 * one of these.
 */
const listenerTls = (certificate: Certificate, handshakeTimeoutMs: number): TlsOptions => ({
  ...certificate,
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS,
  honorCipherOrder: true,
  handshakeTimeout: handshakeTimeoutMs,
});
