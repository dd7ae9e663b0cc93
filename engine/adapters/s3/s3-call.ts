// One call to the S3 store. The client library knows neither signals nor deadlines. We give it a transport that
// finds the current call, which cuts the connection when its signal aborts or its deadline passes.
//   open       the signal and the deadline of the step under way end it
//   committed  the store has all that it needs: an abort now leaves it a short grace to say what became of it, because
//              nothing that we could do would undo the change
//   cut        the connection is gone; `fault` says why
//   handed on  the answer's body belongs to somebody else, who closes it

import { AsyncLocalStorage } from 'node:async_hooks';
import { type ClientRequest, type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { ClientOptions } from 'minio';
import { transient } from '../../runtime/failure.ts';
import type { Clock } from '../../runtime/time.ts';

export interface S3Times {
  readonly connectMs: number;
  /** From the end of a request to the head of its answer. */
  readonly answerMs: number;
  /** Silence of the store while bytes are under way in either direction. */
  readonly idleMs: number;
  /** What an abort leaves to a change that the store has got in full. */
  readonly graceMs: number;
}

export const S3_TIMES: S3Times = { connectMs: 10_000, answerMs: 60_000, idleMs: 60_000, graceMs: 5_000 };

export interface S3CallOptions {
  /** Named in every failure: what was being done to which object where. */
  readonly what: string;
  readonly times: S3Times;
  readonly clock: Clock;
}

type Answered = (response: IncomingMessage) => void;

const current = new AsyncLocalStorage<S3Call>();

/** What the client library sends its requests by. */
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

  /** Why it was cut off; undefined while it was not. */
  get fault(): unknown {
    return this.#fault;
  }

  /** HTTP status of the last answer. */
  get status(): number | undefined {
    return this.#status;
  }

  /** The connection had been idle and was closed from the other side before the store said anything. */
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

  /** The store has this long for its next step; replaces what it had. */
  expect(ms: number, next: string): void {
    this.#endStep();
    this.#endStep = this.#limit(ms, next);
  }

  /** The next step is not the store's. */
  rest(): void {
    this.#endStep();
  }

  /** Before the last byte of a change goes out; throws when that is not wanted any more. */
  commit(): void {
    if (this.#fault !== undefined) throw this.#fault;
    this.#committed = true;
  }

  cut(reason: unknown): void {
    this.#fault ??= reason;
    this.#request?.destroy(asError(reason));
  }

  /** The answer's body outlives the call. */
  handOn(): void {
    this.#handedOn = true;
  }

  /** The signal aborted. */
  handleEvent(): void {
    if (!this.#committed) this.cut(this.#signal.reason);
    else this.#endGrace = this.#limit(this.#options.times.graceMs, 'whether it was done, which is unknown now', true);
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this);
    this.#endStep();
    this.#endConnect();
    this.#endGrace();
    // Of a call that ran to its end nothing is left; any other must not go on alone.
    if (!this.#handedOn) this.#request?.destroy();
  }

  #limit(ms: number, missing: string, exact = false): () => void {
    const { clock, what } = this.#options;
    const said = exact ? missing : `${missing} for ${ms} ms`;
    return clock.after(ms, () =>
      this.cut(transient(`${what}: the store did not give ${said}`, { unreachable: true, unanswered: true })),
    );
  }
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
