// A front end's listener: one port, bounded in everything a client controls.
//   start    listens                         quiet   new requests get 503 but for health, readiness and metrics
//   stop     no new connections; waits for the answers under way, then cuts them off shortly before the deadline

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { transient } from '../engine/failure.ts';
import { Lifecycle, type LifecycleOptions } from '../engine/lifecycle.ts';
import type { RequestPipeline } from './request-pipeline.ts';

export interface ServerLimits {
  readonly maxHeaderSize: number;
  readonly maxConnections: number;
  readonly headerTimeoutMs: number;
  /** A request or answer that stands still. */
  readonly idleTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
}

export interface ServerOptions extends LifecycleOptions {
  readonly host: string;
  /** 0 = any that is free. */
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly limits: ServerLimits;
  readonly pipeline: RequestPipeline;
}

export class HttpServer extends Lifecycle {
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #answering = new Set<Promise<void>>();

  constructor(options: ServerOptions) {
    super(options);
    this.#options = options;
    const { limits, tls } = options;
    const settings = {
      maxHeaderSize: limits.maxHeaderSize,
      headersTimeout: limits.headerTimeoutMs,
      // A slow upload is legal as long as it moves: the socket's own timeout bounds standing still.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(limits.headerTimeoutMs, 5_000),
    };
    this.#server = tls ? createTlsServer({ ...settings, ...tls }) : createServer(settings);
    this.#server.maxConnections = limits.maxConnections;
    this.#server.setTimeout(limits.idleTimeoutMs);
    this.#server.on('request', (request, response) => this.#take(request, response));
    this.#server.on('checkContinue', (request, response) =>
      this.#take(request, response, () => response.writeContinue()),
    );
    this.draining.addEventListener('abort', () => {
      options.pipeline.draining = true;
    });
  }

  /** The port that is listened on; 0 before the start. */
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

  protected override async run(): Promise<void> {
    const failed = once(this.#server, 'error').then(([error]) => {
      throw error;
    });
    failed.catch(() => undefined);
    await Promise.race([aborts(this.stopping), failed]);
    this.#server.close();
    this.#server.closeIdleConnections();
    while (this.#answering.size > 0 && !this.ended.aborted)
      await Promise.race([...this.#answering, aborts(this.ended)]);
    this.#server.closeAllConnections();
  }

  override kill(): void {
    super.kill();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #take(request: IncomingMessage, response: ServerResponse, mayContinue?: () => void): void {
    const answer = this.#options.pipeline
      .handle(request, response, this.hurried, mayContinue)
      .finally(() => this.#answering.delete(answer));
    this.#answering.add(answer);
  }
}

function aborts(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
