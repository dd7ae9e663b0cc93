// One call to the S3 store. The client library supports neither signals nor deadlines. We give it a transport that finds the
// current call. The call closes the connection when its signal aborts or its deadline passes.
//   open       an abort, or the deadline of the current step, closes the connection
//   committed  the store is about to receive the last bytes, so we cannot undo the change. After an abort the store has a
//              short grace period to respond.
//   cut        the connection is closed; `fault` holds the reason
//   handed on  somebody else reads and closes the response body

import { AsyncLocalStorage } from 'node:async_hooks';
import { type ClientRequest, type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { ClientOptions } from 'minio';
import { transient } from '../../runtime/failure.ts';
import type { Clock } from '../../runtime/time.ts';

export interface S3Times {
  readonly connectMs: number;
  /** From the end of a request to the head of its response. */
  readonly answerMs: number;
  /** Longest time without progress while bytes are transferred in either direction. */
  readonly idleMs: number;
  /** How long an abort waits for the response to a committed change. */
  readonly graceMs: number;
}

export const S3_TIMES: S3Times = { connectMs: 10_000, answerMs: 60_000, idleMs: 60_000, graceMs: 5_000 };

interface S3CallOptions {
  /** Named in every failure: the operation, the object, the bucket and the store. */
  readonly what: string;
  readonly times: S3Times;
  readonly clock: Clock;
}

type Answered = (response: IncomingMessage) => void;

const current = new AsyncLocalStorage<S3Call>();

/** The transport of the client library. */
export const s3Transport: Exclude<ClientOptions['transport'], undefined> = {
  request: (...args: readonly unknown[]) => {
    const call = current.getStore();
    if (!call) throw new Error('a request to the S3 store outside of a call');
    const [options, answered] = args as [RequestOptions, Answered];
    return call.begin(options, answered);
  },
};

export class S3Call implements Disposable {
  readonly #options: S3CallOptions;
  readonly #signal: AbortSignal;
  #request: ClientRequest | undefined;
  #fault: unknown;
  #status: number | undefined;
  #committed = false;
  #handedOn = false;
  #endStep = (): void => {};
  #endConnect = (): void => {};
  #endGrace = (): void => {};

  constructor(options: S3CallOptions, signal: AbortSignal) {
    signal.throwIfAborted();
    this.#options = options;
    this.#signal = signal;
    signal.addEventListener('abort', this, { once: true });
    this.expect(options.times.answerMs, 'an answer');
  }

  get times(): S3Times {
    return this.#options.times;
  }

  /** The reason why the connection was closed; undefined while it is not. */
  get fault(): unknown {
    return this.#fault;
  }

  /** HTTP status of the last response. */
  get status(): number | undefined {
    return this.#status;
  }

  /** True when the call reused an idle connection and there was no response: the server had probably closed it. */
  get wasStale(): boolean {
    return this.#request?.reusedSocket === true && this.#status === undefined && this.#fault === undefined;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return current.run(this, work);
  }

  /** Called by the transport. */
  begin(options: RequestOptions, answered: Answered): ClientRequest {
    const tls = options.protocol === 'https:';
    const request = (tls ? tlsRequest : plainRequest)(options);
    this.#request = request;
    this.#status = undefined;
    // The signal may have aborted between two requests of the call.
    if (this.#fault !== undefined) request.destroy(asError(this.#fault));
    request.once('socket', (socket) => {
      if (!socket.connecting) return;
      this.#endConnect = this.#limit(this.#options.times.connectMs, 'a connection');
      socket.once(tls ? 'secureConnect' : 'connect', () => this.#endConnect());
      socket.once('close', () => this.#endConnect());
    });
    request.once('response', (response) => {
      this.#status = response.statusCode;
      this.expect(this.#options.times.idleMs, 'the rest of the answer');
      answered(response);
    });
    return request;
  }

  /** Starts a deadline for the store's next step, in place of the current one. */
  expect(ms: number, next: string): void {
    this.#endStep();
    this.#endStep = this.#limit(ms, next);
  }

  /** Stops the deadline while we do not wait for the store. */
  rest(): void {
    this.#endStep();
  }

  /** Call it before the last bytes of a change are sent. Throws the fault when the connection was cut. */
  commit(): void {
    if (this.#fault !== undefined) throw this.#fault;
    this.#committed = true;
  }

  cut(reason: unknown): void {
    this.#fault ??= reason;
    this.#request?.destroy(asError(reason));
  }

  /** Keeps the connection open after the call, for a reader of the response body. */
  handOn(): void {
    this.#handedOn = true;
  }

  /** Called when the signal aborts. */
  handleEvent(): void {
    if (!this.#committed) this.cut(this.#signal.reason);
    else this.#endGrace = this.#limit(this.#options.times.graceMs, 'whether it was done, which is unknown now', true);
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this);
    this.#endStep();
    this.#endConnect();
    this.#endGrace();
    // Has no effect on a finished request. An unfinished one must not continue without its call.
    if (!this.#handedOn) this.#request?.destroy();
  }

  #limit(ms: number, missing: string, exact = false): () => void {
    const { clock, what } = this.#options;
    const said = exact ? missing : `${missing} for ${ms} ms`;
    return clock.after(ms, () =>
      this.cut(
        transient(`${what}: the store did not give ${said}`, { unreachable: true, unanswered: true, lack: 'storage' }),
      ),
    );
  }
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
